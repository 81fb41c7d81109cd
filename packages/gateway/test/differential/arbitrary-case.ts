/** Random cases: each part is more often right than wrong, so that a case gets far. */

import { Buffer } from "node:buffer";
import fc from "fast-check";
import { envelope } from "../support/envelope.ts";
import type { Case, Field, WireRequest } from "./case.ts";
import { mentions } from "./differences/difference.ts";
import { createRequest, paths, updatePath } from "./request.ts";
import { type Door, doors, isGet, isGrpc, isHttp1, isUnary, namesOf } from "./rows/table.ts";
import { callTables, requestTables } from "./rows/tables.ts";
import {
  type ErrorSpec,
  type GateAct,
  type ImplementationAct,
  type InterceptorAct,
  type Json,
  type Script,
  type WrongAnswer,
  wrongAnswers,
} from "./script.ts";
import type { Setup } from "./setup.ts";

/** One time in `weight`, a part of a case is not the usual one. */
function sometimes<T>(usual: T, other: fc.Arbitrary<T>, weight = 3): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 12,
});
const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 8 }),
);

const message: fc.Arbitrary<Json> = fc.oneof(
  fc.constant({}),
  anyText.map((string) => ({ string: string.toWellFormed() })),
  fc.integer({ min: 900, max: 1200 }).map((length) => ({ string: "a".repeat(length) })),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((int64) => ({ int64: `${int64}` })),
  fc.record({ int32: fc.integer(), boolList: fc.array(fc.boolean(), { maxLength: 3 }) }),
);

const names = fc.constantFrom(
  ...[
    "x-a",
    "x-b",
    "X-C",
    "x-bytes-bin",
    "set-cookie",
    "vary",
    "etag",
    "trailer-x",
    "cache-control",
  ],
  ...["content-type", "content-encoding", "grpc-status", "grpc-message", "grpc-encoding", "date"],
);
const fieldOf = (name: fc.Arbitrary<string>) =>
  // Joined with others, an empty one is at the end of a value: HTTP/2 drops such a field of stock.
  fc.tuple(name, visible).filter(([name, value]) => name !== "x-bytes-bin" || value !== "");
const field = fieldOf(names);
const fields: fc.Arbitrary<readonly Field[]> = fc.array(field, { maxLength: 3 });
/** Only headers of the application: what it does to the protocol's own is tested by rows. */
const ownName = fc.constantFrom("x-a", "x-b", "X-C", "x-bytes-bin", "set-cookie", "vary");
const ownFields: fc.Arbitrary<readonly Field[]> = fc.array(fieldOf(ownName), {
  maxLength: 3,
});

const connectError: fc.Arbitrary<ErrorSpec> = fc.record(
  {
    kind: fc.constant("connect" as const),
    code: fc.integer({ min: 1, max: 16 }),
    message: anyText,
    metadata: ownFields,
    details: fc.array(fc.constantFrom("retry" as const, "any", "wire"), { maxLength: 2 }),
    wire: fc.boolean(),
    cause: fc.boolean(),
  },
  { requiredKeys: ["kind", "code", "message"] },
);

const error: fc.Arbitrary<ErrorSpec> = fc.oneof(
  { weight: 3, arbitrary: connectError },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.record({ kind: fc.constant("error" as const), message: anyText }),
      fc
        .constantFrom("abort" as const, "timeout", "undefined", "null", "string", "object")
        .map((kind) => ({ kind })),
      fc.record({
        kind: fc.constant("alike" as const),
        code: fc.integer({ min: 1, max: 16 }),
        message: visible,
      }),
    ),
  },
);

const gateAct: fc.Arbitrary<GateAct> = fc.oneof(
  fc.record({ do: fc.constant("pass" as const), async: fc.boolean() }),
  fc.record({ do: fc.constant("set" as const), headers: ownFields, trailers: ownFields }),
  fc.record({ do: fc.constant("change request" as const), headers: ownFields }),
  fc.record({ do: fc.constant("refuse" as const), error, async: fc.boolean() }),
);

const interceptorAct: fc.Arbitrary<InterceptorAct> = fc.oneof(
  fc.constantFrom<InterceptorAct>({ do: "look" }, { do: "delay" }, { do: "call twice" }),
  fc.record({
    do: fc.constant("set" as const),
    request: ownFields,
    header: ownFields,
    trailer: ownFields,
  }),
  fc.record({ do: fc.constant("replace request" as const), headers: ownFields }),
  fc.record({
    do: fc.constant("replace response" as const),
    header: ownFields,
    trailer: ownFields,
  }),
  fc.record({ do: fc.constant("change request message" as const), message }),
  fc.record({ do: fc.constant("change response message" as const), message }),
  fc.record({
    do: fc.constant("refuse" as const),
    error,
    when: fc.constantFrom("wrapping" as const, "sync", "before", "after"),
  }),
  fc.record({ do: fc.constant("answer" as const), message, header: ownFields }),
  fc.record({ do: fc.constant("recover" as const), message }),
  fc.record({ do: fc.constant("set value" as const), value: visible }),
);

const implementation: fc.Arbitrary<ImplementationAct> = fc.record(
  {
    headers: fields,
    trailers: fields,
    appended: ownFields,
    value: visible,
    ends: fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ do: fc.constant("echo" as const), async: fc.boolean() }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("answer" as const), message }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant("answer wrongly" as const),
          with: fc.constantFrom(...(Object.keys(wrongAnswers) as WrongAnswer[])),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant("throw" as const),
          error,
          async: fc.boolean(),
        }),
      },
    ),
  },
  { requiredKeys: ["ends"] },
);

const script: fc.Arbitrary<Script> = fc.record({
  gate: sometimes<GateAct>({ do: "pass" }, gateAct),
  interceptors: sometimes<readonly InterceptorAct[]>(
    [],
    fc.array(interceptorAct, { minLength: 1, maxLength: 3 }),
    1,
  ),
  implementation,
  look: fc.constantFrom("at once" as const, "at once", "at once", "late", "never"),
});

/** A few setups, not all at once: each adapter is created once. */
const setup: fc.Arbitrary<Setup> = fc.constantFrom<Setup>(
  {},
  { gate: true },
  { interceptors: 2 },
  { gate: true, interceptors: 3, contextValues: "set", compressMinBytes: 1 },
  { interceptors: 1, compressMinBytes: 5, acceptCompression: ["br", "gzip"] },
  { gate: true, acceptCompression: [], requireConnectProtocolHeader: true },
  { readMaxBytes: 20, writeMaxBytes: 30, interceptors: 1 },
  { readMaxBytes: 1000, compressMinBytes: 10, maxTimeoutMs: 20_000 },
  { requestPathPrefix: "/api", gate: true, interceptors: 1 },
  { interceptors: 2, gate: true, service: { interceptors: 1, compressMinBytes: 1 } },
  { compressMinBytes: 1, service: { gate: true, maxTimeoutMs: 1000, readMaxBytes: 500 } },
  { jsonOptions: { alwaysEmitImplicit: true, ignoreUnknownFields: false }, grpc: false },
  { binaryOptions: { readUnknownFields: false }, fallback: true, contextValues: "undefined" },
  { connect: false, interceptors: 1, gate: true },
);

const encodings = fc.constantFrom(
  ...["gzip", "br", "identity", "", "deflate", "gzip,br", "br, gzip", "GZIP", "gzip;q=0.1", "x"],
);

function headersOf(door: Door): fc.Arbitrary<readonly Field[]> {
  const { encoding, acceptEncoding, timeout } = namesOf(door);
  const whole = isGrpc(door)
    ? fc.constantFrom("20S", "1H", "20000000u", "x", "", "-1S", "100000000S", "40S")
    : fc.constantFrom("20000", "3600000", "x", "", "-1", "12345678901", "40000");
  return fc.array(
    fc.oneof(
      fc.tuple(fc.constant(acceptEncoding), encodings),
      fc.tuple(fc.constant(timeout), whole),
      fc.tuple(fc.constant("connect-protocol-version"), fc.constantFrom("1", "1", "2", "")),
      fc.tuple(fc.constant(encoding), encodings),
      fc.tuple(fc.constantFrom("x-a", "x-bytes-bin", "cookie", "x-value"), visible),
    ),
    { maxLength: 4 },
  );
}

/** A change to what is sent: a cut, a changed byte, additional bytes, or another chunk boundary. */
type Damage = (bytes: Buffer) => readonly Buffer[];

const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.nat(40).map(
    (at): Damage =>
      (bytes) => [bytes.subarray(0, at % (bytes.length + 1))],
  ),
  fc.tuple(fc.nat(40), fc.nat(255)).map(
    ([at, value]): Damage =>
      (bytes) => {
        const copy = Buffer.from(bytes);
        if (copy.length > 0) copy[at % copy.length] = value;
        // A length of gigabytes would be believed, and fail for lack of memory.
        if (copy.length > 4 && copy.readUInt8(1) > 0) copy[1] = 0;
        return [copy];
      },
  ),
  fc.uint8Array({ maxLength: 8 }).map(
    (more): Damage =>
      (bytes) => [Buffer.concat([bytes, more])],
  ),
  fc.array(fc.nat(40), { maxLength: 3 }).map(
    (cuts): Damage =>
      (bytes) => {
        const at = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b);
        return [0, ...at].map((start, i) => bytes.subarray(start, at[i] ?? bytes.length));
      },
  ),
  fc.constant<Damage>((bytes) => [envelope(bytes)]),
);

const contentTypes = fc.constantFrom(
  ...["application/json", "application/proto", "application/grpc", "application/grpc-web+json"],
  ...["application/connect+json", "text/plain", "application/json;x"],
);

const target = fc.record({
  path: sometimes<string | undefined>(
    undefined,
    fc.constantFrom(updatePath, "/library.v1.LibraryService/AddBooks"),
    9,
  ),
  method: sometimes<string | undefined>(undefined, fc.constantFrom("PUT", "DELETE", "OPTIONS"), 30),
  type: sometimes<string | undefined>(undefined, contentTypes, 12),
});

export const anyCase: fc.Arbitrary<Case> = fc.constantFrom(...doors.filter(isUnary)).chain((door) =>
  fc
    .record({
      setup,
      script,
      message,
      target,
      headers: sometimes<readonly Field[]>([], headersOf(door), 1),
      compression: sometimes<"gzip" | "br" | undefined>(
        undefined,
        fc.constantFrom("gzip", "br"),
        4,
      ),
      damage: sometimes<Damage | undefined>(undefined, damage, 4),
      chunked: fc.boolean(),
    })
    .map(({ setup, script, target, damage, chunked, headers, compression, ...rest }) => {
      const type = target.type === undefined ? [] : [["content-type", target.type] as const];
      const known = namesOf(door).encoding;
      const request = createRequest({
        ...door,
        ...rest,
        ...(compression !== undefined && { compression }),
        path: (setup.requestPathPrefix ?? "") + (target.path ?? paths[door.kind]),
        // One field for each name: Node's client sends repeated ones differently over HTTP/2.
        headers: oneOfEach([
          ...type,
          ...headers.filter(([name]) => compression === undefined || name !== known),
        ]),
      });
      const body = damage
        ? request.body.flatMap((bytes) => damage(Buffer.from(bytes)))
        : request.body;
      const isChunked = chunked && isHttp1(door) && !isGet(door);
      const changed: WireRequest = {
        ...request,
        body,
        method: target.method ?? request.method,
        ...(isChunked && { framing: "chunked" }),
      };
      return { what: `by chance, ${JSON.stringify(door)}`, setup, script, request: changed };
    }),
);

/** What an interceptor may do where connect-node keeps the protocol's own headers, and serializes. */
const streamInterceptor: fc.Arbitrary<InterceptorAct> = interceptorAct.filter(
  (act) => !/^(replace response|answer|recover|refuse|call twice)$/.test(act.do),
);

/** Streams, whose requests are whole: what else differs is in the rows. */
export const streamCase: fc.Arbitrary<Case> = fc
  .constantFrom(...doors.filter((door) => !isUnary(door)))
  .chain((door) =>
    fc
      .record({
        setup: fc.constantFrom<Setup>(
          { gate: true, interceptors: 2 },
          { gate: true, interceptors: 1, compressMinBytes: 1, contextValues: "set" },
          { requestPathPrefix: "/api", gate: true, interceptors: 1, readMaxBytes: 5000 },
        ),
        script: fc.record({
          gate: sometimes<GateAct>({ do: "pass" }, gateAct),
          interceptors: fc.array(streamInterceptor, { maxLength: 2 }),
          implementation: fc.record(
            {
              after: fc.nat(2),
              headers: ownFields,
              trailers: ownFields,
              appended: ownFields,
              ends: fc.oneof(
                fc.record({ do: fc.constant("echo" as const), async: fc.boolean() }),
                fc.record({ do: fc.constant("answer" as const), message }),
                fc.record({ do: fc.constant("throw" as const), error, async: fc.boolean() }),
              ),
            },
            { requiredKeys: ["ends"] },
          ),
          look: fc.constantFrom("at once" as const, "late", "never"),
        }),
        message,
        compression: fc.constantFrom(undefined, undefined, "gzip" as const, "br" as const),
        fields: ownFields,
      })
      .map(({ setup, script, message, compression, fields }) => ({
        what: `by chance, ${JSON.stringify(door)}`,
        ...{ setup, script },
        request: createRequest({
          ...{ ...door, message, headers: oneOfEach(fields) },
          ...(compression !== undefined && { compression }),
          path: (setup.requestPathPrefix ?? "") + paths[door.kind],
        }),
      })),
  );

function oneOfEach(fields: readonly Field[]): Field[] {
  return [...new Map(fields.map(([name, value]) => [name.toLowerCase(), value]))];
}

/** Any two rows: the request of one, with the setup and the script of another. */
const allCases = Object.values({ ...requestTables, ...callTables })
  .flat()
  .flatMap(({ cases }) => cases)
  .filter(({ what }) => !/_streaming over/.test(what));
const quiet = allCases.filter(({ request }) => request.end === undefined);
const mixable = allCases.filter(
  ({ setup, script, request }) =>
    request.end === undefined &&
    !/wait|shut down/.test(script.implementation.ends.do) &&
    setup.requestPathPrefix === undefined,
);

export const mixedCase: fc.Arbitrary<Case> = fc
  .tuple(fc.constantFrom(...quiet), fc.constantFrom(...mixable), fc.constantFrom(...mixable))
  .map(([one, two, other]) => ({
    what: `${one.what} | options: ${two.what} | script: ${other.what}`,
    request: one.request,
    setup: two.setup,
    script: other.script,
  }))
  // Without its type, nothing tells that an answer is text.
  .filter(({ request, script }) => !(isText(request) && mentions(script, /content-type/)));

function isText({ headers }: Case["request"]): boolean {
  return headers.some(([, value]) => value.startsWith("application/grpc-web-text"));
}
