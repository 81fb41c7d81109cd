/** The plant, drawn. */

/** What a drawing fits, by words of the name, then of the tag. */
const kinds = [
  ["cactus", /cact|succulent|saguaro|prickly|opuntia/i],
  ["blades", /grass|aloe|agave|yucca|snake|sansevieria|lily|iris|bamboo|chive|leek|palm|reed/i],
  ["pilea", /pilea|clover|geranium|begonia|nasturtium|lotus|money|flower/i],
  ["basil", /basil|herb|mint|sage|oregano|parsley|thyme|rosemary|tea|shrub|tree/i],
];

/** Where no drawing fits, the same name and tag always get the same one. */
function kindOf({ name, tag }) {
  const fitting = [name, tag].flatMap((text) => kinds.filter(([, words]) => words.test(text)));
  const sum = [...`${tag} ${name}`].reduce((total, char) => total + char.codePointAt(0), 0);
  return (fitting[0] ?? kinds[sum % kinds.length])[0];
}

export function specimen(plant) {
  const copied = document.querySelector("#specimen").content.cloneNode(true);
  copied.querySelector("use").setAttribute("href", `#plant-${kindOf(plant)}`);
  copied.querySelector(".specimen-name").textContent = plant.name === "" ? "(no name)" : plant.name;
  copied.querySelector(".specimen-tag").textContent = plant.tag;
  copied.querySelector(".specimen-id").textContent = `id ${plant.id}`;
  return copied;
}
