/** Text in JSON, Python, TypeScript, Go, Java and Rust: `\\uXXXX` is the same character in all of them. */

/** Unicode's controls of direction turn around what is shown beside them (UAX 9). */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The same JSON, in which nothing is turned around. */
export function escapeDirections(json) {
  return json.replace(
    directions,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function quoteText(text) {
  return escapeDirections(JSON.stringify(text));
}

const shownMax = 2000;

/** For a cell of a table. */
export function shortenText(text) {
  return text.length <= shownMax ? text : `${text.slice(0, shownMax)}… (${text.length} characters)`;
}

export function element(name, className = "", text = "") {
  const created = document.createElement(name);
  if (className !== "") created.className = className;
  created.textContent = text;
  return created;
}
