/** Headers and trailers, in both directions. */
import type { Field } from "../case.ts";
import type { ImplementationAct } from "../script.ts";
import { createRow, isHttp1, isProto, type Row, unlike } from "./table.ts";

const incoming: readonly (readonly [what: string, ...headers: Field[]])[] = [
  ["text", ["x-text", "a, b;c=d"]],
  ["several values", ["x-several", "a"], ["x-several", "b"], ["x-several", "a"]],
  ["values and an empty one", ["x-several", ""], ["x-several", "b"]],
  ["spaces around", ["x-space", "  a  b  "]],
  ["an empty value", ["x-empty", ""]],
  ["capitals", ["x-capital", "A"]],
  ["percent signs", ["x-percent", "%41%zz%"]],
  ["bytes in base64", ["x-bytes-bin", "AAEC"]],
  ["bytes in padded base64", ["x-bytes-bin", "AAE="]],
  ["bytes that are not base64", ["x-bytes-bin", "!!"]],
  ["several bytes", ["x-bytes-bin", "AAEC,AwQ"], ["x-bytes-bin", "BQ"]],
  ["cookies", ["cookie", "a=1"], ["cookie", "b=2"]],
  ["a user agent", ["user-agent", "a/1"], ["x-user-agent", "b/2"]],
  ["authorization", ["authorization", "Bearer x"]],
  ["an answer's headers", ["grpc-status", "5"], ["grpc-message", "no"], ["trailer-x", "y"]],
  ["names of Object", ["constructor", "a"], ["__proto__", "b"], ["tostring", "c"]],
  ["names that are numbers", ["1", "a"], ["0", "b"]],
  ["latin-1", ["x-latin", "\u00e9\u00ff"]],
  ["a large value", ["x-large", "a".repeat(6000)]],
  ["set-cookie", ["set-cookie", "a=1"], ["set-cookie", "b=2"]],
  ["names that Node takes once", ["referer", "a"], ["referer", "b"], ["etag", "c"], ["etag", "d"]],
  ["forwarded", ["x-forwarded-proto", "https"], ["forwarded", "host=a"]],
  ["te", ["te", "trailers"], ["x-te", "gzip"]],
];

const read = incoming.map(([what, ...headers]) =>
  createRow({
    what: `the implementation sees ${what}`,
    setup: { gate: true, interceptors: 1, contextValues: "set" },
    // Node never repeats a field that HTTP/2 has only once.
    on: (door) => isProto(door) && (isHttp1(door) || !/Node|latin/.test(what)),
    call: { headers },
  }),
);

const inCapitals = createRow({
  what: "names in capitals",
  on: isHttp1,
  change: (request) => ({
    ...request,
    headers: request.headers.map(([name, value]) => [name.toUpperCase(), value]),
  }),
});

const values = [
  ...["a", "", " a ", "a,b", "%", "\t", "\u00e9", "AAEC", "a\u0020b", "~", '"quoted"', "a;b=c"],
];
const names = [
  ...["x-text", "X-Capital", "x-bytes-bin", "trailer-x", "set-cookie", "vary", "server", "etag"],
  ...["content-type", "content-length", "content-encoding", "grpc-status", "grpc-message"],
  ...["grpc-status-details-bin", "grpc-encoding", "grpc-accept-encoding", "connection", "date"],
  ...["accept-encoding", "connect-content-encoding", "trailer", "www-authenticate", "te", "host"],
  ...["user-agent", "keep-alive", "x-accel-buffering", "cache-control", "connect-protocol-version"],
  ...["allow", "content-language", "retry-after", "location", "link", "upgrade"],
];
const usualValues: Readonly<Record<string, string>> = {
  "content-length": "0",
  "content-encoding": "identity",
  connection: "close",
  "grpc-status": "7",
  te: "trailers",
};

const acts = (
  field: Field,
): readonly (readonly [what: string, act: Omit<ImplementationAct, "ends">])[] => [
  ["header", { headers: [field] }],
  ["trailer", { trailers: [field] }],
  // A length that is not a number leaves an HTTP/1.1 client waiting.
  ...(field[0] === "content-length"
    ? []
    : [["header and trailer, appended", { appended: [field, [field[0], "second"]] }] as const]),
];

const written = names.flatMap((name) => {
  const field = [name, usualValues[name] ?? "a"] as const;
  return acts(field).flatMap(([what, act]) => [
    createRow({
      what: `the implementation sets ${name}: ${what}`,
      unlike: name === "content-length" ? unlike.length : undefined,
      on: isProto,
      setup: { interceptors: 1, compressMinBytes: 1 },
      script: { implementation: { ...act, ends: { do: "echo" } } },
    }),
    createRow({
      what: `the implementation sets ${name}, and fails: ${what}`,
      unlike: name === "content-length" && what === "header" ? unlike.length : undefined,
      on: isProto,
      setup: { interceptors: 1 },
      script: {
        implementation: {
          ...act,
          ends: { do: "throw", error: { kind: "connect", code: 9, message: "no" } },
        },
      },
    }),
  ]);
});

const writtenValues = values.map((value) =>
  createRow({
    what: `the implementation sets the value ${JSON.stringify(value)}`,
    script: {
      implementation: {
        headers: [["x-value", value]],
        trailers: [["x-trailing", value]],
        appended: [["x-value", value]],
        ends: { do: "echo" },
      },
    },
  }),
);

const cookies = createRow({
  what: "several cookies, each a field of its own",
  script: {
    implementation: {
      appended: [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT"],
        ["x-several", "a"],
        ["x-several", "b"],
      ],
      ends: { do: "echo" },
    },
  },
});

const deleted = ["content-type", "grpc-status", "grpc-encoding", "content-encoding"].map((name) =>
  createRow({
    what: `the implementation takes ${name} away`,
    setup: { compressMinBytes: 1 },
    call: { compression: "gzip" },
    script: { implementation: { deleted: [name], ends: { do: "echo" } } },
  }),
);

const deletedAndFailed = ["content-type", "grpc-status"].map((name) =>
  createRow({
    what: `the implementation takes ${name} away, and fails`,
    script: {
      implementation: {
        deleted: [name],
        ends: { do: "throw", error: { kind: "connect", code: 9, message: "no" } },
      },
    },
  }),
);

const metadata = names.flatMap((name) =>
  [true, false].map((wire) =>
    createRow({
      what: `an error ${wire ? "from the wire " : ""}has ${name} in its metadata`,
      on: isProto,
      setup: { interceptors: 1 },
      script: {
        implementation: {
          headers: [["x-both", "header"]],
          trailers: [["x-both", "trailer"]],
          ends: {
            do: "throw",
            error: {
              kind: "connect",
              code: 9,
              message: "no",
              wire,
              metadata: [
                [name, usualValues[name] ?? "a"],
                [name, "second"],
                ["x-both", "metadata"],
              ],
            },
          },
        },
      },
    }),
  ),
);

export const metadataRows: readonly Row[] = [
  ...read,
  inCapitals,
  ...written,
  ...writtenValues,
  cookies,
  ...deleted,
  ...deletedAndFailed,
  ...metadata,
];
