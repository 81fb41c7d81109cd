/** What gate and interceptors may do with a call. */
import type { Ending, ErrorSpec, GateAct, InterceptorAct, Script } from "../script.ts";
import { createRow, isProto, type Row, unlike } from "./table.ts";

const error: ErrorSpec = {
  kind: "connect",
  code: 7,
  message: "not here",
  metadata: [["x-why", "because"]],
  details: ["retry"],
};

const acts: readonly (readonly [what: string, act: InterceptorAct])[] = [
  ["looks", { do: "look" }],
  ["waits", { do: "delay" }],
  ["sets fields", setFields("1")],
  [
    "sets fields that are the protocol's",
    {
      do: "set",
      header: [
        ["content-type", "text/plain"],
        ["grpc-status", "3"],
      ],
      trailer: [["grpc-status", "3"]],
    },
  ],
  ["replaces the request", { do: "replace request", headers: [["x-replaced", "1"]] }],
  [
    "replaces the response",
    { do: "replace response", header: [["x-new", "1"]], trailer: [["x-end", "2"]] },
  ],
  [
    "replaces the response with cookies",
    {
      do: "replace response",
      header: [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["content-type", "a/b"],
      ],
      trailer: [],
    },
  ],
  ["changes the request message", { do: "change request message", message: { string: "other" } }],
  ["changes the response message", { do: "change response message", message: { string: "other" } }],
  [
    "puts a partial response message",
    { do: "change response message", message: { string: "other" }, partial: true },
  ],
  [
    "puts a message of another kind",
    { do: "change response message", message: { $typeName: "a.B" }, partial: true },
  ],
  ...(["wrapping", "sync", "before", "after"] as const).map(
    (when) => [`refuses, ${when}`, { do: "refuse", when, error }] as const,
  ),
  ["throws undefined", { do: "refuse", when: "before", error: { kind: "undefined" } }],
  ["throws an Error, sync", { do: "refuse", when: "sync", error: { kind: "error", message: "x" } }],
  ["answers by itself", { do: "answer", message: { string: "own" }, header: [["x-own", "1"]] }],
  ["recovers", { do: "recover", message: { string: "recovered" } }],
  ["calls twice", { do: "call twice" }],
  ["sets a value", { do: "set value", value: "of an interceptor" }],
];

function setFields(value: string): InterceptorAct {
  return {
    do: "set",
    request: [["x-request", value]],
    header: [["x-header", value]],
    trailer: [["x-trailer", value]],
  };
}

const thens: readonly (readonly [what: string, ends: Ending])[] = [
  ["a call that succeeds", { do: "echo" }],
  ["a call that fails", { do: "throw", error }],
];

function unlikeOf(what: string, ends: Ending) {
  const isEcho = ends.do === "echo";
  if (/partial|another kind/.test(what)) return isEcho ? unlike.unserializable : undefined;
  const isOwn = /replaces the response|answers/.test(what) || (what === "recovers" && !isEcho);
  return isOwn ? unlike.ownHeaders : undefined;
}

/** Of the inner of two interceptors, to which the outer one may not come, or which it may repair. */
function unlikeBehind(outer: string, inner: string) {
  const isReached = !/^(refuses|throws)/.test(outer);
  const isRepaired = outer === "changes the response message" && /partial/.test(inner);
  return isReached && !isRepaired ? unlikeOf(inner, { do: "echo" }) : undefined;
}

const single = acts.flatMap(([what, act]) =>
  thens.flatMap(([call, ends]) => [
    createRow({
      unlike: unlikeOf(what, ends),
      what: `an interceptor ${what}: ${call}`,
      on: isProto,
      setup: { interceptors: 1, contextValues: "set" },
      script: scriptOf([act], ends),
    }),
    createRow({
      unlike: unlikeOf(what, ends),
      what: `between two others, an interceptor ${what}: ${call}`,
      on: isProto,
      setup: { interceptors: 3, gate: true },
      script: scriptOf([setFields("outer"), act, setFields("inner")], ends),
    }),
  ]),
);

const pairs = acts.flatMap(([what, act]) =>
  acts.slice(4, 10).map(([other, otherAct]) =>
    createRow({
      unlike: unlikeOf(what, { do: "echo" }) ?? unlikeBehind(what, other),
      what: `an interceptor ${what}, and one ${other}`,
      setup: { interceptors: 2 },
      script: scriptOf([act, otherAct], { do: "echo" }),
      on: (door) => isProto(door) && door.http === "2",
    }),
  ),
);

function scriptOf(interceptors: readonly InterceptorAct[], ends: Ending): Script {
  const headers = [["x-implementation", "1"]] as const;
  return { interceptors, implementation: { headers, trailers: headers, ends } };
}

const forService = createRow({
  what: "interceptors of the service replace those of the router",
  setup: { interceptors: 2, service: { interceptors: 1 } },
});

const noneForService = createRow({
  what: "the service has options, and no interceptors of its own",
  setup: { interceptors: 2, gate: true, service: { readMaxBytes: 1000 } },
});

const gates: readonly (readonly [what: string, act: GateAct])[] = [
  ["passes", { do: "pass" }],
  ["passes later", { do: "pass", async: true }],
  ["sets fields", { do: "set", headers: [["x-gate", "1"]], trailers: [["x-gate-end", "2"]] }],
  [
    "changes the request",
    {
      do: "change request",
      headers: [
        ["x-gate", "1"],
        ["content-type", "x"],
      ],
    },
  ],
  [
    "refuses with metadata",
    {
      do: "refuse",
      error: {
        ...error,
        metadata: [
          ["www-authenticate", "Bearer"],
          ["x-gate", "1"],
        ],
      },
    },
  ],
];

const gateRows = gates.flatMap(([what, gate]) => [
  createRow({
    what: `the gate ${what}`,
    setup: { gate: true, interceptors: 1, contextValues: "set" },
    script: { gate, implementation: { ends: { do: "echo" } } },
  }),
  createRow({
    what: `the gate of the service ${what}`,
    setup: { service: { gate: true } },
    script: { gate, implementation: { ends: { do: "echo" } } },
  }),
]);

const gateAndBody = createRow({
  what: "the gate passes, and the body is wrong",
  setup: { gate: true, interceptors: 1 },
  call: { bytes: Buffer.from("{{") },
});

const gateAndNothing = createRow({
  what: "the gate passes later, and the message has no bytes",
  setup: { gate: true },
  call: { message: {} },
  script: { gate: { do: "pass", async: true }, implementation: { ends: { do: "echo" } } },
});

export const interceptorRows: readonly Row[] = [
  ...single,
  ...pairs,
  forService,
  noneForService,
  ...gateRows,
  gateAndBody,
  gateAndNothing,
];
