/** What this visit has sent, newest first. */
import { element, shortenText } from "./text.js";

const rowsMax = 20;

const section = document.querySelector("#history");
const rows = section.querySelector("tbody");

/** @param fill Puts a plant back into the form. */
export function remember({ plant, protocol, response }, fill) {
  const texts = [plant.id, plant.name, plant.tag, protocol, response];
  const cells = texts.map((text) => element("td", "", shortenText(text)));
  const button = element("button", "quiet", "Fill in");
  button.type = "button";
  button.addEventListener("click", () => fill(plant));
  const last = element("td");
  last.append(button);
  const row = element("tr");
  row.append(...cells, last);
  rows.prepend(row);
  while (rows.rows.length > rowsMax) rows.deleteRow(-1);
  section.hidden = false;
}
