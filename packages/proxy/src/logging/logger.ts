/** Pino, on standard error. */
import { createRequire } from "node:module";
import { isatty } from "node:tty";
import { describeError } from "connect-gateway/logging";
import type { DestinationStream, Logger } from "pino";
import { formatLine } from "./text.ts";

const stderrFd = 2;

/** What may wait for standard error to take it: the lines of a disk that is full are dropped. */
const waitingBytesMax = 64 * 1024;

/**
 * Writes each line before it returns, so that none is lost at an end, however
 * sudden; no thread of pino's stands between. Whatever standard error does,
 * nothing is thrown.
 *
 * @param format As the setting `log-format` has it.
 */
export function createLogger(format: string): Logger {
  const pino = loadPino();
  const stderr = pino.destination({ fd: stderrFd, sync: true, maxLength: waitingBytesMax });
  stderr.on("error", ignore);
  const destination: DestinationStream = isText(format)
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

/**
 * Pino takes longer to load than most starts would like to wait, and most need
 * no line of it. It is there soon after a start all the same: what a log is
 * needed for may be that no more files can be opened. If that is so already, it
 * is tried again.
 */
export function loadLoggerSoon(): void {
  setTimeout(() => {
    try {
      loadPino();
    } catch {
      loadLoggerSoon();
    }
  }, loadAfterMs).unref();
}

const loadAfterMs = 1000;

/** Synchronous, as whoever has something to log is. */
function loadPino(): typeof import("pino") {
  return createRequire(import.meta.url)("pino") as typeof import("pino");
}

/** Text is for who reads a terminal, JSON for what collects lines. */
function isText(format: string): boolean {
  return format === "text" || (format === "auto" && isatty(stderrFd));
}

function ignore(): void {}
