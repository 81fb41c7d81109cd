import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { blindInterceptor } from "../rpc/blind.ts";
import { methodNameOf } from "../rpc/call-names.ts";

/** The log of the server: one line per event. Never contains tokens or bodies. */
export interface Log {
  info(message: string): void;
  warn(message: string, cause?: unknown): void;
  error(message: string, cause?: unknown): void;
}

/** A full disk fails thousands of calls a second. The first one is enough. */
const intervalMs = 1000;

type Answer = Awaited<ReturnType<ReturnType<Interceptor>>>;

/**
 * A server interceptor that logs failures of the server, not of requests: errors that clients see
 * as "internal" as errors, causes of "unavailable" as warnings. At most one line a second; it
 * counts the others.
 */
export function logFailures(log: Log): Interceptor {
  let writtenAt = Number.NEGATIVE_INFINITY;
  let unwritten = 0;

  function write(level: "warn" | "error", method: string, cause: unknown): void {
    if (performance.now() - writtenAt < intervalMs) {
      unwritten++;
      return;
    }
    const others = unwritten === 0 ? "" : ` (and ${unwritten} more calls since the last line)`;
    log[level](`${method} failed${others}`, cause);
    writtenAt = performance.now();
    unwritten = 0;
  }

  return blindInterceptor((next) => (request) => {
    const fail = (error: unknown): never => {
      if (!(error instanceof ConnectError)) {
        if (request.signal.aborted && error === request.signal.reason) throw error;
        write("error", methodNameOf(request.method), error);
        // Meant for the client from here on, or the gateway would report it once more.
        throw new ConnectError("internal error", Code.Internal, undefined, undefined, error);
      }
      if (error.code === Code.Unavailable && error.cause instanceof Error) {
        // A store's error wraps that of its driver.
        write("warn", methodNameOf(request.method), error.cause.cause ?? error.cause);
      }
      throw error;
    };
    async function* watch<M>(messages: AsyncIterable<M>): AsyncGenerator<M> {
      try {
        yield* messages;
      } catch (error) {
        throw request.signal.aborted ? error : fail(error); // usually the result of a cancellation
      }
    }
    const watched = (answer: Answer): Answer =>
      answer.stream ? { ...answer, message: watch(answer.message) } : answer;
    try {
      const answer = next(request);
      return (request.stream ? answer.then(watched) : answer).catch(fail); // async costs each call more
    } catch (error) {
      return fail(error);
    }
  });
}

const causesMax = 8;

/** The parts of an error for the log. Other properties may contain data of clients. */
export function describeError(error: Error) {
  const { name, message } = error;
  // Of drivers and of the system: `ECONNREFUSED`.
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  const stacks: string[] = [];
  let next: unknown = error;
  while (next instanceof Error && stacks.length < causesMax) {
    stacks.push(next.stack ?? next.message);
    next = next.cause;
  }
  const stack = stacks.join("\ncaused by: ").slice(0, 8192); // loggers drop what is too long
  return { type: name, message: message.slice(0, 2048), code, stack };
}
