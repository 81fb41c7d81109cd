/** Deadlines: how they are read, what the call sees of them, and what happens when they pass. */
import type { Script } from "../script.ts";
import type { Setup } from "../setup.ts";
import { createRow, isGrpc, isProto, namesOf, type Row, timeoutOf } from "./table.ts";

const ofGrpc = [
  ...["1H", "60M", "3600S", "3600000m", "99999999m", "99999999u", "99999999n", "20000000u"],
  ...["0H", "0n", "00000000m", "000000001m", "100000000m", "-1m", "+1m", "1.5S", "1e3m", "1 S"],
  ...["S", "1", "", " 1H ", "1h", "1s", "1X", "1mm", "1H1M", "1H, 1H", "0x10m", "١m", "596H"],
];
const ofConnect = [
  ...["3600000", "20000", "0", "0000000000", "00000000000", "2147483647", "-1", "+1", "1.5"],
  ...["1e3", "", " 20000 ", "1m", "x", "20000, 20000", "0x10", "12345678901", "١"],
];

const isAscii = (value: string) => !/[^ -~]/.test(value);

const readGrpc = ofGrpc.filter(isAscii).map((value) =>
  createRow({
    unary: true,
    what: `grpc-timeout ${JSON.stringify(value)}`,
    setup: { gate: true, interceptors: 1 },
    on: isGrpc,
    call: { headers: [["grpc-timeout", value]] },
  }),
);

const readConnect = ofConnect.filter(isAscii).map((value) =>
  createRow({
    unary: true,
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
      unary: true,
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

const passed = passing.flatMap(([what, script, setup]) =>
  [0, 15].map((timeoutMs) =>
    createRow({
      unary: true,
      what: `the deadline passes, ${what}, ${timeoutMs} ms`,
      setup,
      on: isProto,
      // The state of a signal right at the start depends on the speed of the machine.
      script: timeoutMs === 0 ? script : { ...script, look: "late" },
      call: (door) => ({
        headers: [[namesOf(door).timeout, timeoutOf(door, timeoutMs)]],
      }),
    }),
  ),
);

const unwatched = createRow({
  unary: true,
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
