/** The page at `/`. All paths are relative, so a base path works without configuration. */
import { watchForm } from "./create.js";
import { watchReadiness } from "./readiness.js";

for (const element of document.querySelectorAll("[data-path]")) {
  const { pathname } = new URL(element.dataset.path, document.baseURI);
  // Lets a narrow line break after a slash.
  const parts = pathname.split(/(?<=.\/)/).flatMap((part) => [part, document.createElement("wbr")]);
  element.replaceChildren(...parts);
}
watchForm();
watchReadiness();
