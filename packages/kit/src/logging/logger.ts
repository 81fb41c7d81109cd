import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { isatty } from "node:tty";
import { describeError, type Log } from "connect-gateway/logging";
import type { DestinationStream, Logger } from "pino";

const stderrFd = 2;

/** The maximum text that waits for standard error, on a disk that is full, and the longest line. */
const waitingBytesMax = 4 * 1024 * 1024;

const loggers = new Map<string, Logger>();

/** Writes each line before it returns, so that none is lost. Throws nothing. @param format As in `log-format`. */
export function getLogger(format: string): Logger {
  const logger = loggers.get(format) ?? createLogger(format);
  loggers.set(format, logger);
  return logger;
}

function createLogger(format: string): Logger {
  const pino = loadPino();
  const stderr = pino.destination({ fd: stderrFd, sync: true, maxLength: waitingBytesMax });
  stderr.on("error", () => {});
  stderr.on("drop", () => stderr.write("")); // what waits is tried again: there may be room by now
  const isText = format === "text" || (format === "auto" && isatty(stderrFd));
  const destination: DestinationStream = isText
    ? { write: (line) => stderr.write(formatLine(line)) }
    : stderr;
  return pino(
    {
      base: null, // whoever collects lines knows the machine and the process
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: describeError },
    },
    destination,
  );
}

/** Pino takes long to load. Not when it is needed: that may be when no file can be opened. */
export function loadLoggerSoon(): void {
  setTimeout(() => {
    try {
      loadPino();
    } catch {
      loadLoggerSoon();
    }
  }, 1000).unref();
}

/** Synchronous, as whoever has something to log is. */
function loadPino(): typeof import("pino") {
  return createRequire(import.meta.url)("pino") as typeof import("pino");
}

/** Lines on standard error, with the stack of a cause; while Pino cannot be loaded, without. */
export function createStderrLog(format: string): Log {
  const write = (level: keyof Log) => (message: string, cause?: unknown) => {
    try {
      const logger = getLogger(format);
      if (cause instanceof Error) logger[level]({ err: cause }, message);
      else logger[level](message);
    } catch {
      writePlain(`${level}: ${message}\n`);
    }
  };
  return { info: write("info"), warn: write("warn"), error: write("error") };
}

function writePlain(line: string): void {
  try {
    writeSync(process.stderr.fd, line);
  } catch {
    // There is nowhere to tell it.
  }
}

interface Line {
  readonly time: string;
  readonly level: string;
  readonly msg?: string;
  readonly err?: { readonly stack: string };
  readonly [field: string]: unknown;
}

/** Formats a line of JSON as text. pino-pretty would add thirteen packages. */
export function formatLine(json: string): string {
  const { time, level, msg = "", err, ...fields } = JSON.parse(json) as Line;
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${formatField(value)}`);
  const cause = err === undefined ? "" : `: ${err.stack}`;
  return `${time} ${level} ${escapeText(msg)}${pairs.join("")}${escapeText(cause)}\n`;
}

/** Messages quote upstreams and clients: what they wrote must not look like another line or move the cursor. */
function escapeText(text: string): string {
  return text
    .replaceAll(/[^\P{Cc}\n]|\p{Cf}|\p{Zl}|\p{Zp}/gu, escapeUnits)
    .replaceAll(/\n(?! )/g, "\n    ");
}

/** Quoted, unless it is plain, and without what JSON leaves alone: DEL, C1, and changes of direction. */
function formatField(value: unknown): string {
  if (typeof value === "string" && /^[\x21\x23-\x7e]+$/.test(value)) return value;
  return JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, escapeUnits);
}

function escapeUnits(character: string): string {
  const units = character.split("");
  return units.map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}
