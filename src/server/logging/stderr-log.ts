import type { Logger } from "pino";
import type { Log } from "../log.ts";
import { createLogger } from "./logger.ts";

/** Lines on standard error; a cause is there whole, with its stack. */
export function createStderrLog(format: string): Log {
  let opened: Logger | undefined;

  function write(level: keyof Log): (message: string, cause?: unknown) => void {
    return (message, cause) => {
      opened ??= createLogger(format);
      if (cause instanceof Error) opened[level]({ err: cause }, message);
      else opened[level](message);
    };
  }

  return { info: write("info"), warn: write("warn"), error: write("error") };
}
