/** What a progress needs of a stream such as standard error. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const barWidth = 24;
/** A bar moves smoothly; a log gets a line every few seconds. */
const intervalsMs = { bar: 100, lines: 5000 } as const;

/** Where a work ends: after so many, or when its share, from 0 to 1, is whole; or nobody knows. */
export type End = number | { readonly share: number } | "unknown";

/** Shows how far a long work is: as a bar on a terminal, as a line now and then elsewhere. */
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
      // The rate is of what follows: a first page may come after a long wait.
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

  /** Leaves the line of a bar: before anything else is written. */
  end(): void {
    if (this.#stream.isTTY === true && this.#phase !== "") this.#stream.write("\r\x1b[K");
    this.#phase = "";
  }
}

interface Pace {
  /** A second. */
  readonly rate: number;
  readonly secondsLeft: number | undefined;
}

/** Undefined where nobody knows; all of nothing is nothing. */
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
  // A share has no exact fraction: a hair more than 13 is 13.
  const whole = Math.ceil(Math.max(seconds - 1e-6, 0));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
