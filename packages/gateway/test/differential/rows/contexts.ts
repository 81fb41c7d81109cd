/** What surrounds a call: values, signals, prefixes; and clients that leave. */
import type { Ending, Script } from "../script.ts";
import type { Setup } from "../setup.ts";
import {
  createRow,
  isHttp1,
  isPost,
  isProto,
  isUnary,
  namesOf,
  type Row,
  timeoutOf,
  unlike,
} from "./table.ts";

const valueSetups: readonly Setup[] = [
  { contextValues: "set" },
  { contextValues: "undefined" },
  { contextValues: "throws" },
];

const values = valueSetups.map((setup) =>
  createRow({
    what: `context values: ${setup.contextValues}`,
    setup: { ...setup, gate: true, interceptors: 1 },
    call: { headers: [["x-value", "of the request"]] },
  }),
);

const valuesOfOneCall = createRow({
  what: "a value that the implementation sets is that call's alone",
  setup: { interceptors: 1 },
  script: { implementation: { value: "set", ends: { do: "echo" } } },
});

const looks = (["at once", "late", "never"] as const).flatMap((look) =>
  (
    [
      ["succeeds", { do: "echo" }],
      ["succeeds later", { do: "echo", async: true }],
      ["fails", { do: "throw", error: { kind: "connect", code: 5, message: "no" } }],
      ["fails otherwise", { do: "throw", error: { kind: "error", message: "no" }, async: true }],
      ["aborts", { do: "throw", error: { kind: "abort" } }],
    ] as const
  ).map(([what, ends]) =>
    createRow({
      what: `a call that ${what}, looked at ${look}`,
      setup: { gate: true, interceptors: 1 },
      script: { look, implementation: { ends } },
      call: (door) => ({
        headers: [[namesOf(door).timeout, timeoutOf(door, 20_000)]],
      }),
    }),
  ),
);

const prefixes = ["/api", "/api/", "", "/a b"].flatMap((requestPathPrefix) => [
  createRow({
    what: `the prefix ${JSON.stringify(requestPathPrefix)}`,
    setup: { requestPathPrefix, fallback: true, interceptors: 1 },
    change: (request) => ({
      ...request,
      path: requestPathPrefix.replace(" ", "%20") + request.path,
    }),
  }),
  createRow({
    what: `without the prefix ${JSON.stringify(requestPathPrefix)}`,
    setup: { requestPathPrefix, fallback: true },
  }),
]);

const shutdowns: readonly (readonly [what: string, setup: Setup, ends: Ending])[] = [
  ["open", { shutdownSignal: "open" }, { do: "echo" }],
  ["aborted", { shutdownSignal: "aborted" }, { do: "echo" }],
  ["aborted, and waited for", { shutdownSignal: "aborted" }, { do: "wait", end: "throw reason" }],
  ["aborted in the call", { shutdownSignal: "open" }, { do: "shut down", end: "throw reason" }],
  ["aborted, and passed over", { shutdownSignal: "open" }, { do: "shut down", end: "answer" }],
  [
    "aborted in the call, for the service",
    { service: { shutdownSignal: "open" } },
    { do: "shut down", end: "throw reason" },
  ],
];

const shutdownRows = shutdowns.flatMap(([what, setup, ends]) =>
  (["at once", "late"] as const).map((look) =>
    createRow({
      unlike: /^aborted(, |$)/.test(what) ? unlikeShutdown(ends) : undefined,
      what: `a shutdown signal that is ${what}, looked at ${look}`,
      setup: { ...setup, gate: true, interceptors: 1 },
      script: { look, implementation: { ends } },
    }),
  ),
);

function unlikeShutdown({ do: what }: Ending) {
  return what === "wait" ? unlike.reading : unlike.shutdown;
}

const waits: readonly (readonly [what: string, script: Script])[] = [
  ["throws why", { implementation: { ends: { do: "wait", end: "throw reason" } } }],
  ["answers", { implementation: { ends: { do: "wait", end: "answer" } } }],
  ["throws", { implementation: { ends: { do: "wait", end: "throw other" } } }],
  [
    "throws why, and looks later",
    { look: "late", implementation: { ends: { do: "wait", end: "throw reason" } } },
  ],
];

const leavesHttp2 = waits.flatMap(([what, script]) =>
  Array.from({ length: 14 }, (_, code) => code).map((code) =>
    createRow({
      unlike: what === "answers" ? unlike.reading : undefined,
      what: `the client leaves with code ${code}, the implementation ${what}`,
      // One code for streams, which share what makes an error of it.
      on: (door) => !isHttp1(door) && isProto(door) && (isUnary(door) || code === 8),
      setup: { interceptors: 1, gate: true },
      script,
      change: (request) => ({ ...request, end: { leave: "reset", code } }),
    }),
  ),
);

const leavesHttp1 = waits.flatMap(([what, script]) =>
  (["end", "reset"] as const).map((leave) =>
    createRow({
      unlike: what === "answers" ? unlike.reading : undefined,
      what: `the client leaves by ${leave}, the implementation ${what}`,
      on: isHttp1,
      setup: { interceptors: 1, gate: true },
      script,
      change: (request) => ({ ...request, end: { leave } }),
    }),
  ),
);

const leavesInBody = [true, false].flatMap((wait) =>
  (["end", "reset"] as const).flatMap((leave) =>
    (["at once", "late"] as const).map((look) =>
      createRow({
        unlike: wait || look === "late" ? unlike.reading : undefined,
        what: `the client leaves by ${leave} in its body, the gate ${wait ? "waits" : "passes"}, ${look}`,
        on: isPost,
        setup: { gate: true, interceptors: 1 },
        script: { look, gate: { do: "announce", wait }, implementation: { ends: { do: "echo" } } },
        change: (request) => ({
          ...request,
          body: request.body.map((bytes) => bytes.subarray(0, -1)),
          end: { leave, unfinished: true },
        }),
      }),
    ),
  ),
);

export const contextRows: readonly Row[] = [
  ...values,
  valuesOfOneCall,
  ...looks,
  ...prefixes,
  ...shutdownRows,
  ...leavesHttp2,
  ...leavesHttp1,
  ...leavesInBody,
];
