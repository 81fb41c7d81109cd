/** One request to both adapters, as data. A printed case can be run again. */
import type { Script } from "./script.ts";
import type { Setup } from "./setup.ts";

export type Field = readonly [name: string, value: string];

export interface WireRequest {
  readonly http: "1.0" | "1.1" | "2";
  readonly method: string;
  readonly path: string;
  /** In order, with names as sent, and without those of the framing. */
  readonly headers: readonly Field[];
  /** Sent one after another, each in its own turn of the event loop. */
  readonly body: readonly Uint8Array[];
  /** For HTTP/1.1; over HTTP/2, a body has its own end. Default: its length, in a header. */
  readonly framing?: "length" | "chunked" | "none";
  /**
   * How it ends. Default: whole. `open` never ends; the others abort it once the implementation is
   * called.
   */
  readonly end?: "whole" | "open" | Break;
}

/** The client leaves while the implementation works. */
export interface Break {
  readonly leave: "end" | "reset";
  /** The code of HTTP/2's RST_STREAM. */
  readonly code?: number;
  /** Whether the body was incomplete. Default: no. */
  readonly unfinished?: boolean;
}

export interface Case {
  readonly what: string;
  readonly setup: Setup;
  readonly request: WireRequest;
  readonly script: Script;
}

/** A complete case as text, including its bytes. */
export function printCase(given: Case): string {
  const body = given.request.body.map((bytes) => Buffer.from(bytes).toString("latin1"));
  return JSON.stringify({ ...given, request: { ...given.request, body } });
}
