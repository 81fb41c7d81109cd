export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const barWidth = 24;
/** A bar moves smoothly; a log gets a line every few seconds. */
const intervalsMs = { bar: 100, lines: 5000 } as const;

/** The end of the work: a number of items, or a share from 0 to 1; undefined if unknown. */
export type End = number | { readonly share: number } | "unknown";

/** Shows the progress of long work: a bar on a terminal, a line every few seconds elsewhere. */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #now: () => number;
  #phase = "";
  #begin = { at: 0, done: 0, share: 0 };
  #shownAt = 0;

  constructor(stream: ProgressStream, now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
  }

  update(phase: string, done: number, end: End): void {
    const now = this.#now();
    const share = shareOf(done, end);
    if (phase !== this.#phase) {
      this.end();
      this.#phase = phase;
      // Excludes the time until the first item, which may be long.
      this.#begin = { at: now, done, share: share ?? 0 };
      this.#shownAt = now;
    }
    const isBar = this.#stream.isTTY === true;
    const isDue = now - this.#shownAt >= intervalsMs[isBar ? "bar" : "lines"];
    if (!isDue && !(isBar && share === 1)) return;
    this.#shownAt = now;
    const text = describe(phase, done, end, this.#pace(now, done, share));
    this.#stream.write(isBar ? `\r\x1b[K${bar(share)}${text}` : `${text}\n`);
  }

  #pace(now: number, done: number, share: number | undefined): Pace {
    const { at, ...begin } = this.#begin;
    const seconds = (now - at) / 1000;
    const rate = seconds > 0 ? (done - begin.done) / seconds : 0;
    const isMoving = share !== undefined && share > begin.share;
    const secondsLeft = isMoving ? (seconds * (1 - share)) / (share - begin.share) : undefined;
    return { rate, secondsLeft };
  }

  /** Ends the line of the bar. Call before writing anything else. */
  end(): void {
    if (this.#stream.isTTY === true && this.#phase !== "") this.#stream.write("\r\x1b[K");
    this.#phase = "";
  }
}

interface Pace {
  readonly rate: number;
  readonly secondsLeft: number | undefined;
}

/** Undefined if the end is unknown. */
function shareOf(done: number, end: End): number | undefined {
  if (end === "unknown") return undefined;
  const share = typeof end === "number" ? done / Math.max(end, 1) : end.share;
  return Math.min(share, 1);
}

function bar(share: number | undefined): string {
  if (share === undefined) return "";
  const filled = Math.round(barWidth * share);
  return `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}] `;
}

function describe(phase: string, done: number, end: End, { rate, secondsLeft }: Pace): string {
  const share = shareOf(done, end);
  const parts = [
    share === undefined ? phase : `${phase} ${Math.floor(100 * share)}%`,
    typeof end === "number" ? `${thousands(done)} of ${thousands(end)}` : thousands(done),
  ];
  if (rate > 0) parts.push(`${thousands(Math.round(rate))}/s`);
  if (rate > 0 && secondsLeft !== undefined) parts.push(`${duration(secondsLeft)} left`);
  return parts.join(", ");
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
