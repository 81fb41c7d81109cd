/** When the signal of a call is aborted, and with what reason. */
import { type Code, ConnectError } from "@connectrpc/connect";
import { observeReason } from "../observation.ts";
import type { Outcome } from "../outcome.ts";
import {
  type Difference,
  example,
  isEnveloped,
  isUnary,
  mapStrings,
  replaceIn,
} from "./difference.ts";

const deadlineClamped: Difference = {
  name: "a deadline that no timer can hold is as good as none",
  why: "A timer over 2^31 - 1 ms fires at once: stock gives up a call that may last for weeks.",
  applies: ({ request, script }) =>
    script.implementation.ends.do === "wait a moment" &&
    request.headers.some(
      ([name, value]) => /timeout/.test(name) && /^(\d{10}|\d{4,8}H)$/.test(value),
    ),
  expected: (stock) => ({
    ...stock,
    seen: stock.seen.map((seen) =>
      seen["at"] === "a moment later" ? { ...seen, signal: "open" } : seen,
    ),
  }),
  examples: [
    ["connect", "connect-timeout-ms", "9999999999"] as const,
    ["grpc", "grpc-timeout", "99999999H"] as const,
    ["grpc-web", "grpc-timeout", "1000H"] as const,
  ].map(([protocol, name, value]) =>
    example(
      { protocol, http: "2", headers: [[name, value]] },
      { script: { look: "never", implementation: { ends: { do: "wait a moment" } } } },
    ),
  ),
};

const aborted = observeReason(new DOMException("This operation was aborted", "AbortError"));

const unserializable: Difference = {
  name: "a message that cannot be serialized is why its call is aborted",
  why:
    "Over gRPC and gRPC-Web, stock aborts the signal with an AbortError before it knows of the " +
    "error. Ours aborts it with the error, as stock does over Connect.",
  applies: (given) => isEnveloped(given) && isUnary(given) && typeof given.request.end !== "object",
  expected(stock) {
    const reason = serializationError(stock);
    return reason ? { ...stock, seen: replaceIn(stock.seen, aborted, reason) } : stock;
  },
  examples: (["grpc", "grpc-web"] as const).flatMap((protocol) => [
    example({ protocol }, { setup: { writeMaxBytes: 1 } }),
    example(
      { protocol, codec: "json", http: "2" },
      { script: { implementation: { ends: { do: "answer wrongly", with: "no JSON" } } } },
    ),
  ]),
};

/** The error as the application sees it. That of JSON has a cause. */
function serializationError({ trailers, body }: Outcome): object | undefined {
  const lines = body.map(({ data }) => plainText(data)).join("\n");
  const status = trailers["grpc-status"]?.[0] ?? /grpc-status: (\d+)/.exec(lines)?.[1];
  const text = trailers["grpc-message"]?.[0] ?? /grpc-message: (\S*)/.exec(lines)?.[1] ?? "";
  if (!/^(serialize%20binary|cannot%20(encode|use)%20|message%20size.*writeMaxBytes)/.test(text)) {
    return undefined;
  }
  const message = decodeURIComponent(text);
  const error = observeReason(new ConnectError(message, Number(status) as Code)) as object;
  const isForeign = message.startsWith("cannot use");
  const cause = isForeign
    ? { class: "FieldError", name: "ForeignFieldError", message, cause: false }
    : { class: "Error", name: "Error", message, cause: false };
  return message.startsWith("cannot") ? { ...error, cause } : error;
}

/** If an interceptor has set another content type, gRPC-Web's envelopes are bytes. */
function plainText(data: string): string {
  return data.startsWith("hex ") ? Buffer.from(data.slice(4), "hex").toString("latin1") : data;
}

const afterSuccess: Difference = {
  name: "a call that has succeeded is not aborted",
  why:
    "Stock aborts the signal of a call that has succeeded, with an AbortError: what listens to " +
    "it fails behind the answer. Ours leaves it as it is.",
  applies: (given) => isUnary(given) && typeof given.request.end !== "object",
  expected: (stock) => ({
    ...stock,
    seen: replaceIn(
      stock.seen.filter(
        ({ at, reason }) => !(/signal \d aborted/.test(`${at}`) && isAbort(reason)),
      ),
      { aborted },
      "open",
    ),
  }),
  examples: (["connect", "connect-get", "grpc", "grpc-web"] as const).map((protocol) =>
    example({ protocol, http: "2" }),
  ),
};

function isAbort(reason: unknown): boolean {
  return JSON.stringify(reason) === JSON.stringify(aborted);
}

const thrownUndefined: Difference = {
  name: "undefined that is thrown is an error",
  why:
    "Over gRPC and gRPC-Web, stock answers status 0 without a message: a call that failed has " +
    "succeeded. Ours answers an internal error, as both do for anything else that is thrown.",
  applies: ({ script }) => JSON.stringify(script).includes(isUndefined),
  like: ({ script, ...given }) => ({
    ...given,
    script: JSON.parse(JSON.stringify(script).replaceAll(isUndefined, '"kind":"number"')),
  }),
  expected: (stock) => ({
    ...stock,
    seen: mapStrings(replaceIn(stock.seen, "number 5", aborted), fromNumber),
    headers: mapStrings(stock.headers, fromNumber),
  }),
  examples: (["grpc", "grpc-web"] as const).map((protocol) =>
    example(
      { protocol, http: "2" },
      { script: { implementation: { ends: { do: "throw", error: { kind: "undefined" } } } } },
    ),
  ),
};

const isUndefined = '"kind":"undefined"';

function fromNumber(text: string): string {
  return text === "5" ? "undefined" : text;
}

const givenUp: Difference = {
  name: "what is thrown because a call was given up is told as the reason for that",
  why:
    "An AbortError of fetch or of a database, thrown behind a deadline, is an internal error of " +
    "stock. Ours answers what an implementation that throws the reason of its signal does.",
  applies: (given) => {
    const { ends } = given.script.implementation;
    return isUnary(given) && ends.do === "wait" && ends.end === "throw other";
  },
  like: ({ script, ...given }) => ({
    ...given,
    script: {
      ...script,
      implementation: { ...script.implementation, ends: { do: "wait", end: "throw reason" } },
    },
  }),
  expected: (stock) => stock,
  examples: (
    [
      ["connect", "connect-timeout-ms", "20"],
      ["grpc", "grpc-timeout", "20m"],
      ["grpc-web", "grpc-timeout", "20m"],
    ] as const
  ).map(([protocol, name, value]) =>
    example(
      { protocol, http: "2", headers: [[name, value]] },
      { script: { look: "never", implementation: { ends: { do: "wait", end: "throw other" } } } },
    ),
  ),
};

export const signals: readonly Difference[] = [
  deadlineClamped,
  unserializable,
  afterSuccess,
  thrownUndefined,
  givenUp,
];
