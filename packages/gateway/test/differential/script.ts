/** What gate, interceptors and implementation do in a call, as data. */
import type { Field } from "./case.ts";

export interface Script {
  readonly gate?: GateAct;
  /** In the order of the `interceptors` option. Further ones only observe. */
  readonly interceptors?: readonly InterceptorAct[];
  readonly implementation: ImplementationAct;
  /** When they look at what they receive. Default: at once. */
  readonly look?: "at once" | "late" | "never";
}

export type GateAct =
  /** Tells the client to leave, if the case says so. Then continues, or waits for it. */
  | { readonly do: "announce"; readonly wait: boolean }
  | { readonly do: "pass"; readonly async?: boolean }
  | {
      readonly do: "set";
      readonly headers?: readonly Field[];
      readonly trailers?: readonly Field[];
    }
  | { readonly do: "change request"; readonly headers: readonly Field[] }
  | { readonly do: "refuse"; readonly error: ErrorSpec; readonly async?: boolean };

export type InterceptorAct =
  | { readonly do: "look" }
  /** Sets fields of req.header, res.header and res.trailer. */
  | {
      readonly do: "set";
      readonly request?: readonly Field[];
      readonly header?: readonly Field[];
      readonly trailer?: readonly Field[];
    }
  /** Passes on copies with other headers, signal and values. */
  | { readonly do: "replace request"; readonly headers: readonly Field[] }
  | {
      readonly do: "replace response";
      readonly header: readonly Field[];
      readonly trailer: readonly Field[];
    }
  | { readonly do: "change request message"; readonly message: Json }
  | { readonly do: "change response message"; readonly message: Json; readonly partial?: boolean }
  | { readonly do: "delay" }
  | {
      readonly do: "refuse";
      readonly error: ErrorSpec;
      readonly when: "wrapping" | "sync" | "before" | "after";
    }
  /** Answers by itself, with its own headers or with nobody's. */
  | { readonly do: "answer"; readonly message: Json; readonly header: readonly Field[] }
  | { readonly do: "recover"; readonly message: Json }
  | { readonly do: "call twice" }
  | { readonly do: "set value"; readonly value: string };

export type Json = Readonly<Record<string, unknown>>;

export interface ImplementationAct {
  /** Of a stream: the messages that are answered as they come, before it ends so. Default: 0. */
  readonly after?: number;
  readonly headers?: readonly Field[];
  readonly trailers?: readonly Field[];
  /** Appended, so that a name may have several values. */
  readonly appended?: readonly Field[];
  readonly deleted?: readonly string[];
  readonly value?: string;
  readonly ends: Ending;
}

export type Ending =
  | { readonly do: "echo"; readonly async?: boolean }
  | { readonly do: "answer"; readonly message: Json }
  /** What no implementation may return. */
  | { readonly do: "answer wrongly"; readonly with: WrongAnswer }
  | { readonly do: "throw"; readonly error: ErrorSpec; readonly async?: boolean }
  /** Waits until its signal aborts. */
  | { readonly do: "wait"; readonly end: "throw reason" | "answer" | "throw other" }
  /** Aborts the `shutdownSignal` option, and continues. */
  | { readonly do: "shut down"; readonly end: "throw reason" | "answer" }
  /** As long as a timer takes whose delay exceeds its maximum. */
  | { readonly do: "wait a moment" };

export const wrongAnswers = {
  undefined: () => undefined,
  null: () => null,
  text: () => "text",
  "a list": () => [],
  "a wrong type": () => ({ string: 5 }),
  "a range": () => ({ int32: 2 ** 40 }),
  "an unknown field": () => ({ nothing: 1 }),
  "an unpaired surrogate": () => ({ string: "\ud800" }),
  "another message": () => ({ $typeName: "library.v1.Library", displayName: "a" }),
  "no JSON": () => ({ timestamp: { seconds: 10n ** 15n } }),
} satisfies Record<string, () => unknown>;

export type WrongAnswer = keyof typeof wrongAnswers;

export type ErrorSpec =
  | {
      readonly kind: "connect";
      readonly code: number;
      readonly message: string;
      readonly metadata?: readonly Field[];
      readonly details?: readonly Detail[];
      readonly wire?: boolean;
      readonly cause?: boolean;
    }
  /** As from another copy of the library. */
  | { readonly kind: "alike"; readonly code: number; readonly message: string }
  | { readonly kind: "error"; readonly message: string; readonly cause?: boolean }
  | { readonly kind: "abort" | "timeout" | "undefined" | "null" | "number" | "string" | "object" };

export type Detail = "retry" | "any" | "wire" | "broken";
