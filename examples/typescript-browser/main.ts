import { showCalls } from "./create-plant.ts";

const form = document.querySelector("form");
const output = document.querySelector("output");

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const print = (line: string) => output?.append(`${line}\n`);
  // The token comes from the person, never from the bundle, which everybody can read.
  const token = String(new FormData(form).get("token"));
  showCalls({ baseUrl: location.origin, token }, { print, note: print }).catch(print);
});
