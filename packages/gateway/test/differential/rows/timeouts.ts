/** Deadlines: how they are read, what the call sees of them, and what happens when they pass. */
import type { Script } from "../script.ts";
import type { Setup } from "../setup.ts";
import { createRow, isGrpc, isProto, namesOf, type Row, timeoutOf, unlike } from "./table.ts";

const ofGrpc = [
  ...["1H", "60M", "3600S", "3600000m", "99999999m", "99999999u", "99999999n", "20000000u"],
  ...["0H", "0n", "00000000m", "000000001m", "100000000m", "-1m", "+1m", "1.5S", "1e3m", "1 S"],
  ...["S", "1", "", " 1H ", "1h", "1s", "1X", "1mm", "1H1M", "1H, 1H", "0x10m", "١m", "596H"],
];
const ofConnect = [
  ...["3600000", "20000", "0", "0000000000", "00000000000", "2147483647", "-1", "+1", "1.5"],
  ...["1e3", "", " 20000 ", "1m", "x", "20000, 20000", "0x10", "12345678901", "١"],
];

/** Of those that are 0, and of those that are no deadline in that syntax. */
function unlikeOf(value: string, syntax: RegExp) {
  if (!syntax.test(value.trim())) return unlike.refusal;
  return Number.parseInt(value.trim(), 10) === 0 ? unlike.deadline : undefined;
}

const isAscii = (value: string) => !/[^ -~]/.test(value);

const readGrpc = ofGrpc.filter(isAscii).map((value) =>
  createRow({
    unlike: unlikeOf(value, /^\d{1,8}[HMSmun]$/),
    what: `grpc-timeout ${JSON.stringify(value)}`,
    setup: { gate: true, interceptors: 1 },
    on: isGrpc,
    call: { headers: [["grpc-timeout", value]] },
  }),
);

const readConnect = ofConnect.filter(isAscii).map((value) =>
  createRow({
    unlike: unlikeOf(value, /^\d{1,10}$/),
    what: `connect-timeout-ms ${JSON.stringify(value)}`,
    setup: { gate: true, interceptors: 1 },
    on: (door) => !isGrpc(door),
    call: { headers: [["connect-timeout-ms", value]] },
  }),
);

const ofTheOther = createRow({
  what: "a deadline of the other protocol",
  setup: { gate: true },
  call: (door) => ({
    headers: [isGrpc(door) ? ["connect-timeout-ms", "x"] : ["grpc-timeout", "x"]],
  }),
});

const limits = [19_999, 20_000, 20_001].flatMap((maxTimeoutMs) =>
  [true, false].map((gate) =>
    createRow({
      unlike: maxTimeoutMs < 20_000 ? unlike.refusal : undefined,
      what: `20 s where ${maxTimeoutMs} ms are the most, ${gate ? "with" : "without"} a gate`,
      setup: { maxTimeoutMs, gate },
      call: (door) => ({
        headers: [[namesOf(door).timeout, timeoutOf(door, 20_000)]],
      }),
    }),
  ),
);

const passing: readonly (readonly [what: string, script: Script, setup: Setup])[] = [
  ["thrown on", { implementation: { ends: { do: "wait", end: "throw reason" } } }, {}],
  ["passed over", { implementation: { ends: { do: "wait", end: "answer" } } }, {}],
  ["another error", { implementation: { ends: { do: "wait", end: "throw other" } } }, {}],
  [
    "seen by an interceptor",
    {
      interceptors: [{ do: "recover", message: { string: "b" } }],
      implementation: { ends: { do: "wait", end: "throw reason" } },
    },
    { interceptors: 1 },
  ],
  [
    "looked at later",
    { look: "late", implementation: { ends: { do: "wait", end: "throw reason" } } },
    { gate: true, interceptors: 1 },
  ],
];

function unlikePassing(what: string, timeoutMs: number) {
  const isThrown = what === "thrown on" || what === "looked at later";
  if (!isThrown) return unlike.deadline;
  return timeoutMs === 0 ? unlike.reading : undefined;
}

const passed = passing.flatMap(([what, script, setup]) =>
  [0, 15].map((timeoutMs) =>
    createRow({
      unlike: unlikePassing(what, timeoutMs),
      what: `the deadline passes, ${what}, ${timeoutMs} ms`,
      setup,
      // Whether the messages of a client come before 15 ms depends on the machine.
      on: (door) => isProto(door) && (timeoutMs === 0 || !/^(client|bidi)/.test(door.kind)),
      // The state of a signal right at the start depends on the speed of the machine.
      script: timeoutMs === 0 ? script : { ...script, look: "late" },
      call: (door) => ({
        headers: [[namesOf(door).timeout, timeoutOf(door, timeoutMs)]],
      }),
    }),
  ),
);

const unwatched = createRow({
  unlike: unlike.deadline,
  what: "the deadline has passed, and nobody looks",
  script: { look: "never", implementation: { ends: { do: "echo" } } },
  call: (door) => ({ headers: [[namesOf(door).timeout, timeoutOf(door, 0)]] }),
});

export const timeoutRows: readonly Row[] = [
  ...readGrpc,
  ...readConnect,
  ofTheOther,
  ...limits,
  ...passed,
  unwatched,
];
