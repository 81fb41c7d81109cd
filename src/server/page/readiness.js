/** Whether the service can create plants now. Polls only while the page is visible. */
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
    const response = await fetch(url, { cache: "no-store", signal });
    await response.text(); // or browsers report a request that failed
    const { ok, status } = response;
    // Health checks are switched off.
    return ok ? "ready" : status === 404 ? "untold" : "unready";
  } catch {
    return "unreachable";
  }
}

const texts = {
  ready: "Ready for plants",
  untold: "Unknown",
  unready: "Not ready",
  unreachable: "Unreachable",
};

/** Writes only changes, because screen readers announce each write. */
function show(state) {
  if (shown.dataset.state === state) return;
  shown.dataset.state = state;
  shown.textContent = texts[state];
}
