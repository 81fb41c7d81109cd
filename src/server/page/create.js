/** The form: what it would send, and what came back. */
import { createBody, createHeaders, renderCurl } from "./request.js";

const url = new URL("plants", document.baseURI).href;
const answerTimeoutMs = 30_000;

const form = document.querySelector("#form");
const submit = document.querySelector("#submit");
const curl = document.querySelector("#curl");
const copy = document.querySelector("#copy");
const answer = document.querySelector("#answer");
const fields = Object.fromEntries(
  ["token", "id", "name", "tag"].map((name) => [name, document.querySelector(`#${name}`)]),
);

export function watchForm() {
  form.addEventListener("input", showRequest);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (submit.getAttribute("aria-disabled") !== "true") void create(readForm());
  });
  // Browsers have a clipboard only where the connection is safe.
  copy.hidden = navigator.clipboard === undefined;
  copy.addEventListener("click", copyRequest);
  showRequest();
}

function readForm() {
  const { token, id, name, tag } = fields;
  return { token: token.value.trim(), id: id.value, name: name.value, tag: tag.value };
}

function showRequest() {
  const { token, ...plant } = readForm();
  curl.textContent = renderCurl(url, { hasToken: token !== "", body: createBody(plant) });
}

async function copyRequest() {
  try {
    await navigator.clipboard.writeText(curl.textContent);
    copy.textContent = "Copied";
  } catch {
    copy.textContent = "Not allowed";
  }
  setTimeout(() => {
    copy.textContent = "Copy";
  }, 2000);
}

async function create({ token, ...plant }) {
  const request = createRequest(token, plant);
  if (request === undefined) {
    showFailure("Not sent", "The token has a character that no header can carry.");
    return;
  }
  submit.setAttribute("aria-disabled", "true");
  submit.textContent = "Creating…";
  try {
    const startedAt = performance.now();
    const response = await fetch(request);
    const body = await response.text();
    showAnswer(response, { body, plant, tookMs: performance.now() - startedAt });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    showFailure(
      isLate ? "No answer in time" : "No answer",
      "The plant may be stored or not. The same request again is safe, and tells.",
    );
  } finally {
    submit.removeAttribute("aria-disabled");
    submit.textContent = "Create the plant";
  }
}

/** @returns undefined for a token that cannot be sent. */
function createRequest(token, plant) {
  try {
    return new Request(url, {
      method: "POST",
      headers: createHeaders(token),
      body: createBody(plant),
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
  } catch {
    return undefined;
  }
}

function showAnswer({ ok, status, statusText }, { body, plant, tookMs }) {
  const statusLine = element("p", "status");
  statusLine.append(
    // HTTP/2 has no reason phrase.
    element("strong", "", `${status} ${statusText}`.trim()),
    element("span", "", `${tookMs.toFixed(tookMs < 10 ? 1 : 0)} ms`),
  );
  answer.dataset.state = ok ? "created" : "refused";
  answer.replaceChildren(
    statusLine,
    element("p", "says", ok ? "The plant is safely stored." : explain(status, body)),
    element("pre", "code", body),
    ...(ok ? [specimen(plant)] : []),
  );
}

function showFailure(what, why) {
  const statusLine = element("p", "status");
  statusLine.append(element("strong", "", what));
  answer.dataset.state = "failed";
  answer.replaceChildren(statusLine, element("p", "says", why));
}

/** https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
const codeNames = {
  3: "INVALID_ARGUMENT",
  4: "DEADLINE_EXCEEDED",
  6: "ALREADY_EXISTS",
  7: "PERMISSION_DENIED",
  8: "RESOURCE_EXHAUSTED",
  13: "INTERNAL",
  14: "UNAVAILABLE",
  16: "UNAUTHENTICATED",
};

function explain(status, body) {
  if (status === 401) return "The service does not know this token.";
  const name = codeNames[parseError(body)?.error];
  return name === undefined ? "The service refused." : `The service refused: ${name}.`;
}

function parseError(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const kinds = ["basil", "blades", "pilea", "cactus"];

/** The plant, drawn. The same name and tag are always the same kind. */
function specimen({ id, name, tag }) {
  const copied = document.querySelector("#specimen").content.cloneNode(true);
  const sum = [...`${tag} ${name}`].reduce((total, char) => total + char.codePointAt(0), 0);
  copied.querySelector("use").setAttribute("href", `#plant-${kinds[sum % kinds.length]}`);
  copied.querySelector(".specimen-name").textContent = name === "" ? "(no name)" : name;
  copied.querySelector(".specimen-tag").textContent = tag;
  copied.querySelector(".specimen-id").textContent = `id ${id}`;
  return copied;
}

function element(name, className, text = "") {
  const created = document.createElement(name);
  if (className !== "") created.className = className;
  created.textContent = text;
  return created;
}
