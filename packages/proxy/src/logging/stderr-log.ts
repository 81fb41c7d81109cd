import { writeSync } from "node:fs";
import type { Log } from "connect-gateway/logging";
import type { Logger } from "pino";
import { createLogger } from "./logger.ts";

/**
 * Lines on standard error; a cause is there whole, with its stack. Nothing is
 * thrown: while Pino cannot be loaded, for want of files, a line has its message alone.
 */
export function createStderrLog(format: string): Log {
  let opened: Logger | undefined;

  function write(level: keyof Log): (message: string, cause?: unknown) => void {
    return (message, cause) => {
      opened ??= open();
      if (opened === undefined) writePlain(`${level}: ${message}\n`);
      else if (cause instanceof Error) opened[level]({ err: cause }, message);
      else opened[level](message);
    };
  }

  function open(): Logger | undefined {
    try {
      return createLogger(format);
    } catch {
      return undefined;
    }
  }

  return { info: write("info"), warn: write("warn"), error: write("error") };
}

function writePlain(line: string): void {
  try {
    writeSync(process.stderr.fd, line);
  } catch {
    // There is nowhere to tell it.
  }
}
