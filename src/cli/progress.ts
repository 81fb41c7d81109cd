const barWidth = 24;
/** A bar moves smoothly; a log gets a line every few seconds. */
const intervalsMs = { bar: 100, lines: 5000 } as const;

/** The end of the work: a number of items, or a share from 0 to 1; undefined if unknown. */
export type End = number | { readonly share: number } | "unknown";

/** Shows the progress of long work: a bar on a terminal, a line every few seconds elsewhere. */
export function createProgress() {
  const { stderr: stream } = process;
  const isBar = stream.isTTY === true;
  let shown = "";
  let begin = { at: 0, done: 0, share: 0 };
  let shownAt = 0;
  return { update, end, [Symbol.dispose]: end };

  function update(phase: string, done: number, total: End): void {
    const at = performance.now();
    const partDone = typeof total === "object" ? total.share : done / Math.max(Number(total), 1);
    const share = total === "unknown" ? undefined : Math.min(partDone, 1);
    if (phase !== shown) {
      end();
      shown = phase;
      // Excludes the time until the first item, which may be long.
      begin = { at, done, share: share ?? 0 };
      shownAt = at;
    }
    const isDue = at - shownAt >= intervalsMs[isBar ? "bar" : "lines"];
    if (!isDue && !(isBar && share === 1)) return;
    shownAt = at;
    const seconds = (at - begin.at) / 1000;
    const rate = seconds > 0 ? (done - begin.done) / seconds : 0;
    const isMoving = share !== undefined && share > begin.share;
    const secondsLeft = isMoving ? (seconds * (1 - share)) / (share - begin.share) : undefined;
    const parts = [
      share === undefined ? phase : `${phase} ${Math.floor(100 * share)}%`,
      typeof total === "number" ? `${thousands(done)} of ${thousands(total)}` : thousands(done),
    ];
    if (rate > 0) parts.push(`${thousands(Math.round(rate))}/s`);
    if (rate > 0 && secondsLeft !== undefined) parts.push(`${duration(secondsLeft)} left`);
    const text = parts.join(", ");
    const filled = Math.round(barWidth * (share ?? 0));
    const whole = `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}] `;
    // A second row of the terminal would stay.
    const bar = `${share === undefined ? "" : whole}${text}`.slice(0, (stream.columns || 80) - 1);
    stream.write(isBar ? `\r\x1b[K${bar}` : `${text}\n`);
  }

  /** Ends the line of the bar. Call before writing anything else. */
  function end(): void {
    if (isBar && shown !== "") stream.write("\r\x1b[K");
    shown = "";
  }
}

function thousands(number: number): string {
  return number.toLocaleString("en-US");
}

function duration(seconds: number): string {
  // Rounding may have made it slightly more than a whole second.
  const whole = Math.ceil(Math.max(seconds - 1e-6, 0));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** `1 plant`, `2 plants`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
