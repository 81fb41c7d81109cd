/** What an implementation throws, and what a client gets for it. */
import type { Detail, ErrorSpec, WrongAnswer } from "../script.ts";
import { wrongAnswers } from "../script.ts";
import { createRow, isJson, isProto, namesOf, type Row, unlike } from "./table.ts";

const codes = [...Array.from({ length: 16 }, (_, i) => i + 1), 0, 17, -1, 1.5, 99];

const texts: readonly string[] = [
  ...["", " ", "plain", "two words", "100%", "%41", "é", "🌱", "a\nb", "a\r\nb: c", "\t", "\u0000"],
  ...["\u007f", '"', "\\", "<b>", "a/b?c=d&e", "'()*!~", "\u2028", "a".repeat(3000), "+", "\ufeff"],
];

const details: readonly (readonly Detail[])[] = [
  ["retry"],
  ["any"],
  ["wire"],
  ["retry", "wire", "any"],
  ["broken"],
  ["retry", "broken"],
];

const connectErrors: readonly (readonly [what: string, error: ErrorSpec])[] = [
  ...codes.map((code) => [`code ${code}`, { kind: "connect", code, message: "no" }] as const),
  ...texts.map((message) => {
    const what = `message ${JSON.stringify(message.slice(0, 20))}`;
    return [what, { kind: "connect", code: 3, message }] as const;
  }),
  ...details.flatMap((list) =>
    [false, true].map((wire) => {
      const error = { kind: "connect", code: 3, message: "no é", details: list, wire } as const;
      return [`${wire ? "from the wire, " : ""}details ${list}`, error] as const;
    }),
  ),
  ["a lone surrogate", { kind: "connect", code: 3, message: "\ud800" }],
  ["a cause", { kind: "connect", code: 3, message: "no", cause: true }],
  ["as of another copy", { kind: "alike", code: 7, message: "no" }],
];

const others: readonly (readonly [what: string, error: ErrorSpec])[] = [
  ["an Error", { kind: "error", message: "secret" }],
  ["an Error with a cause", { kind: "error", message: "secret", cause: true }],
  ["an Error without a message", { kind: "error", message: "" }],
  ...(["abort", "timeout", "undefined", "null", "number", "string", "object"] as const).map(
    (kind) => [kind, { kind }] as const,
  ),
];

const thrown = [...connectErrors, ...others].flatMap(([what, error]) =>
  [true, false].map((async) =>
    createRow({
      unlike: /broken/.test(what) ? unlike.details : undefined,
      what: `the implementation ${async ? "rejects" : "throws"}: ${what}`,
      on: (door) => isProto(door) || async,
      setup: { interceptors: 1 },
      script: { implementation: { ends: { do: "throw", error, async } } },
    }),
  ),
);

const withMetadata = connectErrors.slice(0, 3).map(([what, error]) =>
  createRow({
    what: `headers and trailers are kept: ${what}`,
    script: {
      implementation: {
        headers: [["x-header", "1"]],
        trailers: [["x-trailer", "2"]],
        ends: { do: "throw", error },
      },
    },
    call: (door) => ({ headers: [[namesOf(door).acceptEncoding, "gzip"]] }),
  }),
);

const jsonDetails = createRow({
  what: "details, with options for JSON",
  on: isJson,
  setup: { jsonOptions: { alwaysEmitImplicit: true, useProtoFieldName: true } },
  script: {
    implementation: {
      ends: { do: "throw", error: { kind: "connect", code: 3, message: "no", details: ["retry"] } },
    },
  },
});

const gate = [...connectErrors.slice(0, 2), ...connectErrors.slice(-1), ...others].flatMap(
  ([what, error]) =>
    [true, false].map((async) =>
      createRow({
        what: `the gate ${async ? "rejects" : "throws"}: ${what}`,
        on: isProto,
        setup: { gate: true, interceptors: 1, compressMinBytes: 1 },
        call: (door) => ({ headers: [[namesOf(door).acceptEncoding, "gzip"]] }),
        script: {
          gate: { do: "refuse", error, async },
          implementation: { ends: { do: "echo" } },
        },
      }),
    ),
);

const gateFirst = (
  [
    [
      "an unknown compression",
      ["content-encoding", "x"],
      ["connect-content-encoding", "x"],
      ["grpc-encoding", "x"],
    ],
    ["a wrong deadline", ["connect-timeout-ms", "x"], ["grpc-timeout", "x"]],
  ] as const
).map(([what, ...headers]) =>
  createRow({
    what: `the gate refuses before ${what} is told`,
    setup: { gate: true, requireConnectProtocolHeader: true },
    call: { headers },
    script: {
      gate: {
        do: "refuse",
        error: { kind: "connect", code: 16, message: "no", metadata: [["www-authenticate", "a"]] },
      },
      implementation: { ends: { do: "echo" } },
    },
  }),
);

/** If several things are wrong, one is reported. */
const order = createRow({
  unlike: unlike.refusal,
  what: "version, compression and deadline are all wrong",
  setup: { gate: true, requireConnectProtocolHeader: true },
  call: {
    headers: [
      ["connect-protocol-version", "2"],
      ["content-encoding", "x"],
      ["connect-content-encoding", "x"],
      ["grpc-encoding", "x"],
      ["connect-timeout-ms", "x"],
      ["grpc-timeout", "x"],
    ],
    query: [
      ["connect", "v2"],
      ["compression", "x"],
    ],
  },
});

const orderBehind = createRow({
  unlike: unlike.refusal,
  what: "compression, deadline and body are all wrong",
  setup: { gate: true, readMaxBytes: 1 },
  call: {
    headers: [
      ["content-encoding", "x"],
      ["connect-content-encoding", "x"],
      ["grpc-encoding", "x"],
      ["connect-timeout-ms", "x"],
      ["grpc-timeout", "x"],
    ],
    query: [["compression", "x"]],
  },
});

const wrong = (Object.keys(wrongAnswers) as WrongAnswer[]).map((answer) =>
  createRow({
    unlike: /wrong type|range|no JSON/.test(answer) ? unlike.unserializable : undefined,
    what: `the implementation answers ${answer}`,
    setup: { interceptors: 1 },
    script: { implementation: { ends: { do: "answer wrongly", with: answer } } },
  }),
);

export const errorRows: readonly Row[] = [
  ...thrown,
  ...withMetadata,
  jsonDetails,
  ...gate,
  ...gateFirst,
  order,
  orderBehind,
  ...wrong,
];
