import type { Field, WireRequest } from "./case.ts";

/** What came over the wire. */
export interface WireResponse {
  /** 0 where none came. */
  readonly status: number;
  /** In the order of the wire, names in lower case. */
  readonly headers: readonly Field[];
  readonly body: Buffer;
  readonly trailers: readonly Field[];
  /** How the length of the body is told. */
  readonly framing: "length" | "chunked" | "close" | "none";
  /** `whole`, or what is wrong with it. */
  readonly end: string;
}

/** Sends one request after the other, on a connection that it keeps while it can. */
export interface Client extends AsyncDisposable {
  /** @param called Resolves when the implementation is at work; a client that leaves waits for it. */
  send(request: WireRequest, called: Promise<unknown>): Promise<WireResponse>;
}
