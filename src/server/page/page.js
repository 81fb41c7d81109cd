/** The page at `/`. All paths are relative: a base path needs nothing here. */
import { watchForm } from "./create.js";
import { watchReadiness } from "./readiness.js";

for (const element of document.querySelectorAll("[data-path]")) {
  const { pathname } = new URL(element.dataset.path, document.baseURI);
  // A narrow line may end behind a slash.
  const parts = pathname.split(/(?<=.\/)/).flatMap((part) => [part, document.createElement("wbr")]);
  element.replaceChildren(...parts);
}
watchForm();
watchReadiness();
