/** What a progress needs of a stream such as standard error. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const barWidth = 24;
/** A bar moves smoothly; a log gets a line every few seconds. */
const intervalsMs = { bar: 100, lines: 5000 } as const;

/** Shows how far a long work is: as a bar on a terminal, as a line now and then elsewhere. */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #now: () => number;
  #phase = "";
  #begin = { at: 0, done: 0 };
  #shownAt = 0;

  constructor(stream: ProgressStream, now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
  }

  update(phase: string, done: number, total: number): void {
    const now = this.#now();
    if (phase !== this.#phase) {
      this.end();
      this.#phase = phase;
      // The rate is of what follows: a first page may come after a long wait.
      this.#begin = { at: now, done };
      this.#shownAt = now;
    }
    const isBar = this.#stream.isTTY === true;
    const isDue = now - this.#shownAt >= intervalsMs[isBar ? "bar" : "lines"];
    if (!isDue && !(isBar && done === total)) return;
    this.#shownAt = now;
    const seconds = (now - this.#begin.at) / 1000;
    const rate = seconds > 0 ? (done - this.#begin.done) / seconds : 0;
    const text = describe(phase, done, total, rate);
    this.#stream.write(isBar ? `\r\x1b[K${bar(done, total)} ${text}` : `${text}\n`);
  }

  /** Leaves the line of a bar: before anything else is written. */
  end(): void {
    if (this.#stream.isTTY === true && this.#phase !== "") this.#stream.write("\r\x1b[K");
    this.#phase = "";
  }
}

function bar(done: number, total: number): string {
  const filled = Math.round((barWidth * Math.min(done, total)) / Math.max(total, 1));
  return `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}]`;
}

function describe(phase: string, done: number, total: number, rate: number): string {
  const percent = Math.floor((100 * Math.min(done, total)) / Math.max(total, 1));
  const far = `${phase} ${percent}%, ${thousands(done)} of ${thousands(total)}`;
  if (rate <= 0) return far;
  return `${far}, ${thousands(Math.round(rate))}/s, ${duration((total - done) / rate)} left`;
}

function thousands(number: number): string {
  return number.toLocaleString("en-US");
}

function duration(seconds: number): string {
  const whole = Math.ceil(Math.max(seconds, 0));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
