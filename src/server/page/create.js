/** The form: what it would send, what was sent, and what came back. */
import { remember } from "./history.js";
import { codeNames, fieldOf, protocols, toBytes } from "./request.js";
import { snippets } from "./snippets.js";
import { specimen } from "./specimen.js";
import { element, shortenText } from "./text.js";
import { FieldError, hex } from "./wire.js";

const answerTimeoutMs = 30_000;

const find = (selector) => document.querySelector(selector);
const form = find("#form");
const submit = find("#submit");
const request = find("#request");
const requestState = find("#request-state");
const snippet = find("#snippet");
const copy = find("#copy");
const answer = find("#answer");
const outcome = find("#outcome");
const drawn = find("#drawn");
const received = find("#received");
const promise = find("#promise");
/** The numbers of the fields of each message, by their names. */
const numbers = JSON.parse(form.dataset.fields);
const plantFields = Object.keys(numbers.NewPlant);
const fields = Object.fromEntries(
  ["token", ...plantFields].map((name) => [name, find(`#${name}`)]),
);
/** The last plant that was stored: what the two buttons below the answer are about. */
let stored;
let isSending = false;

export function watchForm() {
  form.addEventListener("input", ({ target }) => {
    if (target.id in fields) setFieldError(target.id, "");
    showRequest("Not sent yet");
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void create({ says: "The plant is safely stored." });
  });
  find("#fresh").addEventListener("click", () => fillAgain({ ...readPlant(), id: freshId() }));
  find("#languages").addEventListener("input", showSnippet);
  // Browsers have a clipboard only on a secure connection.
  copy.hidden = navigator.clipboard === undefined;
  copy.addEventListener("click", copySnippet);
  find("#again").addEventListener("click", () => {
    fill(stored);
    void create({
      isDemo: true,
      says: "The same response, and still one plant: retries are safe.",
    });
  });
  find("#other").addEventListener("click", () => {
    fill({ ...stored, name: stored.name === "Mint" ? "Sage" : "Mint" });
    void create({ isDemo: true, says: "The plant is safely stored." });
  });
  showRequest("Not sent yet");
}

function readPlant() {
  return Object.fromEntries(plantFields.map((name) => [name, fields[name].value]));
}

function fill(plant) {
  for (const [name, value] of Object.entries(plant)) fields[name].value = value;
}

/** Fills the form. Its errors were about what it had before. */
function fillAgain(plant) {
  fill(plant);
  for (const name of Object.keys(plant)) setFieldError(name, "");
  showRequest("Not sent yet");
}

/** Random, as nobody knows which ids are taken. */
function freshId() {
  const [random] = crypto.getRandomValues(new BigInt64Array(1));
  return String(BigInt.asUintN(63, random));
}

function chosen(name) {
  return find(`input[name="${name}"]:checked`).value;
}

function urlOf({ path }) {
  return new URL(path, document.baseURI);
}

/** As the browser tells of the last answer that did not come from its cache; empty before one. */
function httpVersion() {
  const entry = performance.getEntries().findLast(({ nextHopProtocol }) => nextHopProtocol);
  return { h2: "HTTP/2", "http/1.1": "HTTP/1.1" }[entry?.nextHopProtocol] ?? "";
}

function showRequest(state) {
  requestState.textContent = state;
  const protocol = protocols[chosen("protocol")];
  const { pathname, host } = urlOf(protocol);
  const headers = { host, authorization: "Bearer ••••••", ...protocol.headers };
  request.replaceChildren(
    showHead(["POST", pathname, httpVersion()], Object.entries(headers)),
    showBody(encode(protocol)),
  );
  showSnippet();
}

/** A plant that the protocol cannot carry has no body. The error is shown when it is sent. */
function encode(protocol) {
  try {
    return protocol.encode(readPlant(), numbers);
  } catch (error) {
    if (error instanceof FieldError) return `Cannot be encoded: ${error.message}`;
    throw error;
  }
}

function showSnippet() {
  const base = new URL("./", document.baseURI).href;
  snippet.tabIndex = 0; // It may scroll.
  snippet.textContent = snippets[chosen("language")]({ base, plant: readPlant() });
}

async function copySnippet() {
  try {
    await navigator.clipboard.writeText(snippet.textContent);
    copy.textContent = "Copied";
  } catch {
    copy.textContent = "Not allowed";
  }
  setTimeout(() => {
    copy.textContent = "Copy";
  }, 2000);
}

/** @param isDemo Leaves the focus on the button that was pressed, for the next step. */
async function create({ says, isDemo = false }) {
  if (isSending) return;
  for (const name of Object.keys(fields)) setFieldError(name, "");
  const protocol = protocols[chosen("protocol")];
  const plant = readPlant();
  const created = createRequest(protocol, plant);
  if (created.field !== undefined) {
    showRequest("Not sent");
    showOutcome({ state: "failed", status: "Not sent", says: created.message });
    setFieldError(created.field, created.message);
    goTo(created.field);
    return;
  }
  setSending(true);
  const field = await send(created, { protocol, plant, says });
  setSending(false);
  // Scroll last: what is written above may have moved what is below.
  if (field === undefined || isDemo) showWhereItEnds();
  else goTo(field);
}

/** @returns the field that the response is about; undefined if it is about none. */
async function send(created, { protocol, plant, says }) {
  try {
    const startedAt = performance.now();
    const response = await fetch(created);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const tookMs = performance.now() - startedAt;
    return showAnswer(response, {
      ...protocol.decode(response, bytes, numbers),
      protocol: protocol.name,
      plant,
      says,
      tookMs,
    });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const status = isLate ? "No response in time" : "No response";
    remember({ plant, protocol: protocol.name, response: status }, fillAgain);
    showOutcome({
      state: "failed",
      status,
      says: "The plant may or may not be stored. Send the same request again: that is safe.",
    });
    return undefined;
  } finally {
    showRequest("Sent");
  }
}

/** On a narrow screen, the response is far below the button. */
function showWhereItEnds() {
  (promise.hidden ? outcome : promise).scrollIntoView({ block: "nearest" });
}

/** Shows a field with its label and its error. `focus` alone may show half of it. */
function goTo(field) {
  fields[field].focus({ preventScroll: true });
  fields[field].closest(".field").scrollIntoView({ block: "nearest" });
}

function setSending(value) {
  isSending = value;
  submit.setAttribute("aria-disabled", String(value));
  submit.textContent = value ? "Creating…" : "Create the plant";
}

/** @returns a Request, or the field that prevents one, with a message. */
function createRequest(protocol, plant) {
  const token = fields.token.value.trim();
  if (token === "") return { field: "token", message: "Enter a token." };
  try {
    return new Request(urlOf(protocol), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, ...protocol.headers },
      body: toBytes(protocol.encode(plant, numbers)),
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
  } catch (error) {
    if (error instanceof FieldError) return error;
    return { field: "token", message: "The token has a character that HTTP headers cannot carry." };
  }
}

/** @returns the field that an error is about. */
function showAnswer(response, { body, code, message, protocol, plant, says, tookMs }) {
  const isCreated = code === 0;
  const name = codeNames[code];
  const status = `${response.status} ${response.statusText}`.trim();
  const result = [status, ...(isCreated || name === undefined ? [] : [name])].join(" · ");
  remember({ plant, protocol, response: result }, fillAgain);
  showOutcome({
    state: isCreated ? "created" : "refused",
    status: result,
    took: `${tookMs.toFixed(tookMs < 10 ? 1 : 0)} ms`,
    says: isCreated ? says : message || "The response did not come from plant-store.",
  });
  received.replaceChildren(showHead([httpVersion(), status], response.headers), showBody(body));
  if (isCreated) drawn.replaceChildren(specimen(plant));
  if (isCreated) {
    stored = plant;
    promise.hidden = false;
    return undefined;
  }
  const named = fieldOf(code, message);
  const field = named in fields ? named : undefined;
  if (field !== undefined) setFieldError(field, message);
  return field;
}

function showOutcome({ state, status, took = "", says }) {
  const line = element("p", "status");
  line.append(element("strong", "", status), element("span", "", took));
  answer.dataset.state = state;
  outcome.replaceChildren(line, element("p", "says", says));
  drawn.replaceChildren();
  received.replaceChildren();
}

function setFieldError(name, message) {
  const shown = find(`#${name}-error`);
  shown.textContent = message;
  shown.hidden = message === "";
  if (message === "") fields[name].removeAttribute("aria-invalid");
  else fields[name].setAttribute("aria-invalid", "true");
}

function showHead(firstLine, headers) {
  const lines = Array.from(headers, ([name, value]) => `\n${name}: ${value}`);
  return element("pre", "code", firstLine.join(" ").trim() + lines.join(""));
}

/** Text as it is; bytes in hex, each part beside its meaning. */
function showBody(body) {
  if (typeof body === "string") {
    const shown = element("pre", "code", body);
    // It scrolls, so the keyboard must reach it.
    if (body.length > 500) shown.tabIndex = 0;
    return shown;
  }
  const table = element("table", "code");
  const row = (kind, ...texts) => {
    const created = element("tr");
    created.append(...texts.map((text) => element(kind, "", shortenText(text))));
    return created;
  };
  const rows = body.map(({ bytes, means }) => row("td", shorten(bytes), means));
  table.append(row("th", "Bytes", "Meaning"), ...rows);
  return table;
}

/** Long parts are texts, which their meaning repeats in full. */
function shorten(bytes) {
  if (bytes.length <= 24) return hex(bytes);
  return `${hex(bytes.slice(0, 16))} … ${bytes.length} bytes`;
}
