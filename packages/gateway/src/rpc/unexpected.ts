/** Errors that nobody meant for a client: it is told "internal error", and someone else the rest. */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";
import type { Cancellation } from "./signal.ts";

export interface ErrorListener {
  /** Told once of each call that fails by an error which is no ConnectError. */
  readonly onError?: (error: unknown) => void;
}

/** Who is told by default. */
export function logError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: what connectNodeAdapter does
  console.error(error);
}

/**
 * Tells of an error that ends a call, if it is unexpected. What is thrown once the call is given
 * up is mostly because of that, as the AbortError of a query, and nobody waits for its answer.
 *
 * @param cancellation Must not have heard of the error yet.
 */
export function reportUnexpected(
  error: unknown,
  { onError }: ErrorListener,
  cancellation: Pick<Cancellation, "aborted">,
): void {
  if (!(error instanceof ConnectError) && !cancellation.aborted) onError?.(error);
}

/**
 * The error that ends a call. Where its deadline has passed, or the server shuts down, that is why:
 * the client does not hear of what was thrown because of it, as the AbortError of a query.
 */
export function endingError(
  error: unknown,
  cancellation: Pick<Cancellation, "aborted" | "reason">,
): unknown {
  if (error instanceof ConnectError || !cancellation.aborted) return error;
  const { reason } = cancellation;
  const isTold = reason instanceof ConnectError && toldCodes.has(reason.code);
  return isTold ? reason : error;
}

/** Of a client that has left, nobody is told. */
const toldCodes: ReadonlySet<Code> = new Set([Code.DeadlineExceeded, Code.Unavailable]);

type CallOptions = Pick<UniversalHandlerOptions, "requestGate" | "interceptors">;

/** The gate and interceptors of streams that connect-es serves, which report what is unexpected. */
export function reportingOptions(
  { requestGate, interceptors }: CallOptions,
  listener: ErrorListener,
): CallOptions {
  const gate: CallOptions["requestGate"] =
    requestGate &&
    (async (context) => {
      try {
        await requestGate(context);
      } catch (error) {
        reportUnexpected(error, listener, context.signal);
        throw endingError(error, context.signal);
      }
    });
  const report: Interceptor = (next) => async (request) => {
    const { signal } = request;
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: reporting(response.message, { listener, signal }) };
    } catch (error) {
      reportUnexpected(error, listener, signal);
      throw endingError(error, signal);
    }
  };
  return { ...(gate && { requestGate: gate }), interceptors: [report, ...interceptors] };
}

async function* reporting<T>(
  messages: AsyncIterable<T>,
  { listener, signal }: { readonly listener: ErrorListener; readonly signal: AbortSignal },
): AsyncGenerator<T> {
  try {
    yield* messages;
    // An implementation that returns when it is cut off has not come to its end.
    signal.throwIfAborted();
  } catch (error) {
    reportUnexpected(error, listener, signal);
    throw endingError(error, signal);
  }
}
