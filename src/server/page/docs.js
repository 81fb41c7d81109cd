/** The reference of the API: Swagger UI over openapi.json, to read. */
const dark = matchMedia("(prefers-color-scheme: dark)");

function followScheme() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

dark.addEventListener("change", followScheme);
followScheme();
document.querySelector("#base").textContent = new URL("./", document.baseURI).href;

/** What the page says itself, with headings in their order. */
const shownAbove = ["InfoContainer", "ServersContainer"];
const onlyToTry = ["authorizeBtn", "authorizeOperationBtn"];

function leaveOut(...names) {
  return Object.fromEntries(names.map((name) => [name, () => () => null]));
}

/** Swagger UI gives its choice of examples no label. */
const labelled =
  (Original, { React }) =>
  (props) =>
    React.createElement("label", null, "Example ", React.createElement(Original, props));

globalThis.SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  docExpansion: "full",
  defaultModelsExpandDepth: 3,
  defaultModelExpandDepth: 3,
  syntaxHighlight: { activated: false },
  // It would ask a validator of its makers about us.
  validatorUrl: null,
  // To try is what `/` is for: it keeps ids exact, and tokens to itself.
  supportedSubmitMethods: [],
  plugins: [
    { wrapComponents: { ...leaveOut(...shownAbove, ...onlyToTry), ExamplesSelect: labelled } },
  ],
});
