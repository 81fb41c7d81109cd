/** One request to both adapters, as data: what can be printed can be run again. */
import type { Script } from "./script.ts";
import type { Setup } from "./setup.ts";

export type Field = readonly [name: string, value: string];

export interface WireRequest {
  readonly http: "1.0" | "1.1" | "2";
  readonly method: string;
  readonly path: string;
  /** In order, names as they are sent; without those of the framing. */
  readonly headers: readonly Field[];
  /** Sent one after the other, each in its own turn of the event loop. */
  readonly body: readonly Uint8Array[];
  /** Over HTTP/1.1; over HTTP/2 a body has an end of its own. Default: its length, in a header. */
  readonly framing?: "length" | "chunked" | "none";
  /** How it ends. Default: whole. `open` never does; the others break off once it is called. */
  readonly end?: "whole" | "open" | Break;
}

/** The client leaves while the implementation works. */
export interface Break {
  readonly leave: "end" | "reset";
  /** The code of HTTP/2's RST_STREAM. */
  readonly code?: number;
  /** Whether the body had been sent whole. Default: yes. */
  readonly unfinished?: boolean;
}

export interface Case {
  readonly what: string;
  readonly setup: Setup;
  readonly request: WireRequest;
  readonly script: Script;
}

/** A case as text: whole, with its bytes. */
export function printCase(given: Case): string {
  const body = given.request.body.map((bytes) => Buffer.from(bytes).toString("latin1"));
  return JSON.stringify({ ...given, request: { ...given.request, body } });
}
