/** Whether the service would take a plant, asked for as long as somebody looks. */
const intervalMs = 5000;
const timeoutMs = 4000;
const url = new URL("readyz", document.baseURI);

const shown = document.querySelector("#readiness");

export function watchReadiness() {
  let timer;
  async function ask() {
    clearTimeout(timer);
    if (document.hidden) return;
    show(await findReadiness());
    timer = setTimeout(ask, intervalMs);
  }
  document.addEventListener("visibilitychange", ask);
  void ask();
}

async function findReadiness() {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const { ok, status } = await fetch(url, { cache: "no-store", signal });
    // Where health is switched off, nobody can tell.
    return ok ? "ready" : status === 404 ? "untold" : "unready";
  } catch {
    return "unreachable";
  }
}

const texts = {
  ready: "Ready for plants",
  untold: "Not told",
  unready: "Takes no plants now",
  unreachable: "Cannot be reached",
};

/** Only what has changed is written, and so read out. */
function show(state) {
  if (shown.dataset.state === state) return;
  shown.dataset.state = state;
  shown.textContent = texts[state];
}
