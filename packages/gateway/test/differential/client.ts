import type { Field, WireRequest } from "./case.ts";

/** A response as received. */
export interface WireResponse {
  /** 0 if there was none. */
  readonly status: number;
  /** In the order received, with names in lower case. */
  readonly headers: readonly Field[];
  readonly body: Buffer;
  readonly trailers: readonly Field[];
  /** How the length of the body is indicated. */
  readonly framing: "length" | "chunked" | "close" | "none";
  /** `whole`, or what is wrong with it. */
  readonly end: string;
}

/** Sends one request after another, on a persistent connection if possible. */
export interface Client extends AsyncDisposable {
  /**
   * @param called Resolves when the implementation is running. A client that leaves waits for it.
   */
  send(request: WireRequest, called: Promise<unknown>): Promise<WireResponse>;
}
