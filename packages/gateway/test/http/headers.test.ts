import http2 from "node:http2";
import { inspect } from "node:util";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import {
  fitFields,
  fromNodeHeaders,
  isOfConnection,
  LazyHeaders,
  mediaTypeOf,
  type NodeHeaders,
  toNodeHeaders,
  withoutConnection,
} from "../../src/http/headers.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { openFields } from "../support/echo.ts";
import { envelope } from "../support/envelope.ts";
import { exchangeOn } from "../support/exchange.ts";
import { grpcProtocol } from "../support/open-client.ts";

const sources: readonly NodeHeaders[] = [
  {},
  { a: "1", "x-b2": "2" },
  { a: "" },
  { a: "1 " },
  { a: 5, b: undefined },
  { "set-cookie": ["c=1", "d=2", "e=3"], a: "1" },
  { ":path": "/", a: "1" },
];

/** What it returns, or the class of what it throws. */
function outcomeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return (error as Error).constructor.name;
  }
}

describe.each(sources)("the headers %j", (source) => {
  const lazy = () => new LazyHeaders(source);
  const real = () => fromNodeHeaders(source);

  test.each([
    ...["a", "A", "x-b2", "b", "set-cookie", ":path", "none", "toString", "constructor"],
    ...["not a name"],
  ])("are looked up as in Headers: %s", (name) => {
    expect(outcomeOf(() => lazy().get(name))).toEqual(outcomeOf(() => real().get(name)));
    expect(outcomeOf(() => lazy().has(name))).toEqual(outcomeOf(() => real().has(name)));
    const changed = lazy();
    changed.set("more", "1");
    expect(outcomeOf(() => changed.get(name))).toEqual(outcomeOf(() => real().get(name)));
    expect(outcomeOf(() => changed.has(name))).toEqual(outcomeOf(() => real().has(name)));
  });

  test("are passed through as Headers", () => {
    const [ours, theirs] = [lazy(), real()];
    expect([...ours]).toEqual([...theirs]);
    expect([...ours.keys()]).toEqual([...theirs.keys()]);
    expect([...ours.values()]).toEqual([...theirs.values()]);
    expect(ours.getSetCookie()).toEqual(theirs.getSetCookie());
    const visited: unknown[] = [];
    const self = {};
    ours.forEach(function (this: unknown, value, name, parent) {
      expect([this, parent]).toEqual([self, ours]);
      visited.push([name, value]);
    }, self);
    expect(visited).toEqual([...theirs]);
  });

  test("are changed as Headers", () => {
    const [ours, theirs] = [lazy(), real()];
    for (const headers of [ours, theirs]) {
      headers.set("a", "new");
      headers.append("x-b2", "more");
      headers.append("set-cookie", "f=4");
      headers.delete("none");
    }
    expect([...ours]).toEqual([...theirs]);
    ours.delete("a");
    expect(ours.has("a")).toBe(false);
  });

  test("are Node's own until they are changed", () => {
    const headers = lazy();
    headers.has("none");
    headers.get("none");
    if (source["a"] === "1" || source["a"] === "") headers.get("a");
    expect(headers.toNode()).toBe(source);
    headers.set("a", "new");
    expect(headers.toNode()).toEqual({ ...toNodeHeaders(real()), a: "new" });
    expect(source["a"]).not.toBe("new");
  });
});

test("LazyHeaders pass for Headers, and are printed as them", () => {
  const headers = new LazyHeaders({ a: "1" });
  expect(headers).toBeInstanceOf(Headers);
  expect(Object.prototype.toString.call(headers)).toBe("[object Headers]");
  expect(inspect(headers)).toBe(inspect(new Headers({ a: "1" })));
});

test("headers of a connection do not go over HTTP/2", () => {
  const plain = { a: "1", "content-type": "text/plain" };
  expect(withoutConnection(plain)).toEqual(plain);
  const names =
    "connection http2-settings keep-alive proxy-connection te transfer-encoding upgrade";
  for (const name of names.split(" ")) {
    expect(isOfConnection(name), name).toBe(true);
    expect(withoutConnection({ ...plain, [name]: "1" })).toEqual(plain);
  }
  expect(isOfConnection("a")).toBe(false);
});

const long = "a".repeat(70_000);

function tooMuch(): ConnectError {
  const fieldViolations = [{ field: "string", description: long }];
  const details = [{ desc: BadRequestSchema, value: { fieldViolations } }];
  return new ConnectError("the reason", Code.FailedPrecondition, { "x-more": long }, details);
}

const open = () =>
  openFields(
    {
      echo: () => Promise.reject(tooMuch()),
      async *repeat(message) {
        if (message.string === "late") yield message;
        throw tooMuch();
      },
    },
    { mayFail: true },
  );

/** More than HTTP/2 can carry: code and message arrive, and the log says what does not. */
describe("over HTTP/2, an error that is too long keeps its code and message", () => {
  test.each(["unary", "early", "late"])("by gRPC: %s", async (when) => {
    await using gateway = await open();
    using caller = grpcProtocol.open(FieldService, gateway.origin("2"));
    const call = async () => {
      if (when === "unary") await caller.client.echo({});
      else for await (const _ of caller.client.repeat({ string: when }));
    };
    const error = await call().catch(ConnectError.from);
    expect(error).toMatchObject({ code: Code.FailedPrecondition, rawMessage: "the reason" });
    expect(gateway.errors).toMatchObject([
      { message: expect.stringMatching(/left out grpc-status-details-bin, x-more/) },
    ]);
  });

  test.each([
    ["Connect", "/library.v1.FieldService/Echo"],
    ["REST", "/v1/fields"],
  ])("by %s", async (_protocol, path) => {
    await using gateway = await open();
    const headers = { "content-type": "application/json" };
    const answer = await gateway.send({ version: "2", method: "POST", path, headers, body: "{}" });
    expect(answer.status).toBe(400);
    expect(answer.body.toString()).toContain("the reason");
    expect(gateway.errors).toMatchObject([{ message: expect.stringMatching(/left out x-more/) }]);
  });
});

test("over HTTP/2, what the client announces is the limit, of headers and of trailers", async () => {
  await using gateway = await openFields(
    {
      async *repeat(message, { responseHeader, responseTrailer }) {
        responseHeader.set("x-more", "a".repeat(3000));
        responseTrailer.set("x-behind", "a".repeat(3000));
        yield message;
      },
    },
    { mayFail: true },
  );
  const session = http2.connect(gateway.origin("2"), { settings: { maxHeaderListSize: 2000 } });
  const { headers, trailers } = await exchangeOn(session, {
    path: "/library.v1.FieldService/Repeat",
    headers: { "content-type": "application/grpc+json" },
    body: envelope("{}"),
  });
  session.destroy();
  expect([headers.get("x-more"), trailers.get("x-behind")]).toEqual([null, null]);
  expect(trailers.get("grpc-status")).toBe("0");
  expect(gateway.errors).toMatchObject([
    { message: expect.stringMatching(/left out x-more, x-behind$/) },
  ]);
});

/** Each field has its name, its value and 32 bytes. */
describe("of fields that are too long", () => {
  const status = { "grpc-status": "0", "grpc-message": "x".repeat(100) };
  const details = { "grpc-status-details-bin": "x" };
  test.each<[what: string, fields: NodeHeaders, bytesMax: number, omitted: string[]]>([
    ["nothing goes if they just fit", { a: "x", b: "yy" }, 69, []],
    ["the longest go, one after another", { a: "x", b: "yyy", c: "zz" }, 40, ["b", "c"]],
    ["details go first", { a: "x".repeat(100), ...details }, 188, ["grpc-status-details-bin"]],
    ["the longest goes", { ...details, a: "xx", b: "y" }, 68, ["grpc-status-details-bin", "a"]],
    ["a status never goes", { ...status, a: "x" }, 10, ["a"]],
    ["each value of a field counts", { a: ["x", "y"], b: "z" }, 101, ["a"]],
    ["a number has its digits", { a: 123, b: "y" }, 69, ["a"]],
    ["what is undefined has no length", { a: undefined, b: "y" }, 34, []],
  ])("%s", (_what, fields, bytesMax, omitted) => {
    const told: string[] = [];
    const fitting = fitFields(fields, bytesMax, (names) => told.push(names));
    const rest = Object.fromEntries(
      Object.entries(fields).filter(([name]) => !omitted.includes(name)),
    );
    expect(fitting).toEqual(rest);
    if (_what.startsWith("nothing")) expect(fitting).toBe(fields);
    expect(told).toEqual(omitted.length === 0 ? [] : [omitted.join(", ")]);
  });
});

test("a quotation in a Content-Type is read once, even without an end", () => {
  const begin = performance.now();
  expect(mediaTypeOf(`application/json; a="${'\\"'.repeat(50_000)}`)).toBe("application/json");
  expect(performance.now() - begin).toBeLessThan(2000);
});
