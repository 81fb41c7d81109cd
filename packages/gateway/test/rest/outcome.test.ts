/** What a REST client gets for an implementation's answer or error. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  Code,
  ConnectError,
  createClient,
  createRouterTransport,
  type ServiceImpl,
} from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { RestFailure, restErrorFrom } from "../../src/errors/http.ts";
import { type RestError, renderProblem } from "../../src/index.ts";
import { CardSchema } from "../gen/library/v1/card_pb.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { get, openShelves, send, versions } from "../support/catalog.ts";
import { codeStatuses } from "../support/code-statuses.ts";
import { jsonOf, type SentRequest, type TestGatewayOptions } from "../support/gateway.ts";
import { openLibraryOf } from "../support/library.ts";

type GetLibrary = NonNullable<ServiceImpl<typeof LibraryService>["getLibrary"]>;

const rest = { method: "GET", path: "/v1/library" };
const connect = {
  path: "/library.v1.LibraryService/GetLibrary",
  headers: { "content-type": "application/json" },
  body: "{}",
};

const openLibrary = (getLibrary: GetLibrary, options?: Partial<TestGatewayOptions>) =>
  openLibraryOf({ getLibrary }, options);

describe("an error", () => {
  const message = 'no "é", no 🌱,\r\n no </script>';

  test.each(codeStatuses)("with code %s has status %s, as with Connect", async (code, status) => {
    await using gateway = await openLibrary(() => {
      throw new ConnectError(message, code);
    });
    const byRest = await gateway.send(rest);
    expect(byRest.headers.get("content-type")).toBe("application/json");
    expect(jsonOf(byRest)).toEqual({ code, message, details: [] });
    const byConnect = await gateway.send(connect);
    expect(jsonOf(byConnect)).toEqual({ code: codeToString(code), message });
    for (const answer of [byRest, byConnect]) {
      expect(answer.status).toBe(status);
      // RFC 9110 section 15.5.2: a 401 says how to authenticate.
      expect(answer.headers.get("www-authenticate")).toBe(status === 401 ? "Bearer" : null);
    }
  });

  test("of a gate keeps the challenge that the gate has set", async () => {
    await using gateway = await openLibrary(() => ({}), {
      requestGate({ responseHeader }) {
        responseHeader.set("www-authenticate", "Basic");
        throw new ConnectError("no", Code.Unauthenticated);
      },
    });
    for (const request of [rest, connect]) {
      expect((await gateway.send(request)).headers.get("www-authenticate")).toBe("Basic");
    }
  });

  test("includes its details, with their types", async () => {
    await using gateway = await openLibrary(() => {
      throw new ConnectError("why", Code.Unavailable, undefined, [
        { desc: RetryInfoSchema, value: { retryDelay: { seconds: 2n } } },
        { desc: BadRequestSchema, value: { fieldViolations: [{ field: "a" }] } },
        { desc: DurationSchema, value: { seconds: 3n } },
        { desc: CardSchema, value: { number: 1n } },
        // Its type is not known here.
        { desc: EveryFieldSchema, value: { any: { typeUrl: "a.example/a.B" } } },
      ]);
    });
    expect(jsonOf(await gateway.send(rest))).toEqual({
      code: Code.Unavailable,
      message: "why",
      details: [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2s" },
        { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "a" }] },
        { "@type": "type.googleapis.com/google.protobuf.Duration", value: "3s" },
        { "@type": "type.googleapis.com/library.v1.Card", number: "1" },
        { "@type": "type.googleapis.com/library.v1.EveryField", value: expect.any(String) },
      ],
    });
  });

  test("includes its metadata as headers, except headers of HTTP itself", async () => {
    await using gateway = await openLibrary((_request, { responseHeader }) => {
      responseHeader.set("x-before", "1");
      throw new ConnectError("why", Code.Unauthenticated, {
        "www-authenticate": 'Bearer realm="library"',
        "retry-after": "3",
        "content-type": "text/html",
        "content-length": "1000",
        "x-library": "a, b",
      });
    });
    const { headers, body } = await gateway.send(rest);
    expect(headers.get("www-authenticate")).toBe('Bearer realm="library"');
    expect(headers.get("retry-after")).toBe("3");
    expect(headers.get("x-library")).toBe("a, b");
    expect(headers.get("x-before")).toBe("1");
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("content-length")).toBe(String(body.length));
  });

  test.each<[what: string, reason: unknown]>([
    ["an Error", new Error("secret", { cause: new Error("secret") })],
    ["a string", "secret"],
    ["undefined", undefined],
    ["an error of the system", Object.assign(new Error("secret"), { code: "ENOENT" })],
  ])("that is %s, not meant for callers, reveals nothing", async (_what, reason) => {
    const throwReason = () => {
      throw reason;
    };
    await using gateway = await openLibrary(throwReason, { mayFail: true });
    const response = await gateway.send(rest);
    const internal = { code: Code.Internal, message: "internal error", details: [] };
    expect([response.status, jsonOf(response)]).toEqual([500, internal]);
    expect(JSON.stringify([...response.headers])).not.toContain("secret");
  });

  test("from another service keeps code, message and details, but not its headers", async () => {
    const upstream = createRouterTransport((router) => {
      router.service(LibraryService, {
        getLibrary() {
          throw new ConnectError("why", Code.NotFound, { "x-upstream": "secret" }, [
            { desc: BadRequestSchema, value: { fieldViolations: [{ field: "a" }] } },
          ]);
        },
      });
    });
    const client = createClient(LibraryService, upstream);
    await using gateway = await openLibrary(() => client.getLibrary({}));
    const rows = [
      [connect, { type: "google.rpc.BadRequest" }],
      [rest, { "@type": "type.googleapis.com/google.rpc.BadRequest" }],
    ] as const;
    for (const [request, detail] of rows) {
      const response = await gateway.send(request);
      expect(response.status).toBe(404);
      expect(jsonOf(response)).toMatchObject({ message: "why", details: [detail] });
      expect(response.headers.get("x-upstream"), request.path).toBeNull();
    }
  });
});

/** When a client may try again. */
const delay = (seconds: bigint, nanos = 0) => ({ retryDelay: { seconds, nanos } });
const failure = (code: Code, value: MessageInitShape<typeof RetryInfoSchema>, metadata = {}) =>
  new ConnectError("", code, metadata, [{ desc: RetryInfoSchema, value }]);

test.each<[error: ConnectError, retryAfter: string | null]>([
  [failure(Code.Unavailable, delay(7n)), "7"],
  [failure(Code.Unavailable, delay(7n, 1)), "8"],
  [failure(Code.ResourceExhausted, delay(2n)), "2"],
  [new ConnectError("", Code.Unavailable), "1"],
  [failure(Code.Unavailable, delay(7n), { "retry-after": "9" }), "9"],
  [failure(Code.Unavailable, {}), "1"],
  [new ConnectError("", Code.ResourceExhausted), null],
])("Retry-After %o: %s", async (error, retryAfter) => {
  await using gateway = await openLibrary(() => Promise.reject(error));
  expect((await gateway.send(rest)).headers.get("retry-after")).toBe(retryAfter);
});

test("renderError decides on status and body of REST alone, and receives both status and error", async () => {
  const told: RestError[] = [];
  const options = {
    rest: {
      renderError(error: RestError) {
        told.push(error);
        return { status: 418, body: { reason: error.error.rawMessage } };
      },
    },
  };
  await using gateway = await openLibrary(() => {
    throw new ConnectError("why", Code.NotFound, { "x-error": "1" });
  }, options);
  const { status, headers, body } = await gateway.send(rest);
  expect({ status, json: jsonOf({ body }) }).toEqual({ status: 418, json: { reason: "why" } });
  expect(headers.get("x-error")).toBe("1");
  expect(jsonOf(await gateway.send(connect))).toEqual({ code: "not_found", message: "why" });
  expect(told).toMatchObject([{ status: 404, error: { code: Code.NotFound } }]);
});

describe("what an implementation sets arrives:", () => {
  test("headers, as with Connect", async () => {
    await using gateway = await openLibrary((_request, { responseHeader }) => {
      responseHeader.set("x-library", "a");
      responseHeader.append("x-library", "b");
      responseHeader.append("set-cookie", "a=1");
      responseHeader.append("set-cookie", "b=2");
      responseHeader.set("etag", '"1"');
      return {};
    });
    for (const request of [rest, connect]) {
      const { headers } = await gateway.send(request);
      expect(headers.get("x-library")).toBe("a, b");
      expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
      expect(headers.get("etag")).toBe('"1"');
    }
  });

  test.each(["1.1", "2"] as const)("trailers, over HTTP/%s", async (version) => {
    await using gateway = await openLibrary((_request, { responseTrailer }) => {
      responseTrailer.set("x-checksum", "abc");
      return {};
    });
    const { headers, trailers } = await gateway.send({ version, ...rest });
    // As a trailer, or as a header in Connect's form.
    const carried = [...headers, ...trailers].filter(([name]) => name.endsWith("x-checksum"));
    expect(carried.map(([, value]) => value)).toEqual(["abc"]);
  });

  test("but does not replace REST's own headers", async () => {
    await using gateway = await openLibrary((_request, { responseHeader }) => {
      responseHeader.set("content-type", "text/html");
      responseHeader.set("content-length", "1");
      return { displayName: "a" };
    });
    const { headers, body } = await gateway.send(rest);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("content-length")).toBe(String(body.length));
    expect(jsonOf({ body })).toEqual({ displayName: "a" });
  });
});

test("an answer over writeMaxBytes is rejected; REST reports an error that retries cannot fix", async () => {
  const answer = () => ({ displayName: "x".repeat(100) });
  await using gateway = await openLibrary(answer, { writeMaxBytes: 117 });
  await using larger = await openLibrary(answer, { writeMaxBytes: 118 });
  const message = expect.stringMatching(/^message size 118 is larger than .* writeMaxBytes 117$/);
  for (const [request, status, code] of [
    [rest, 500, Code.Internal],
    [{ ...connect, body: "{}" }, 429, "resource_exhausted"],
  ] as const) {
    const response = await gateway.send(request);
    expect([response.status, jsonOf(response)]).toMatchObject([status, { code, message }]);
    expect(response.headers.has("retry-after")).toBe(false);
    expect(response.body.toString()).not.toContain("xxx");
    expect((await larger.send(request)).status).toBe(200);
  }
});

const problemType = "application/problem+json";

/** Errors as application/problem+json, wherever they are rendered. */
describe("a problem has the members of RFC 9457, and code and details:", () => {
  const violation = { desc: BadRequestSchema, value: { fieldViolations: [{ field: "id" }] } };
  const bad = new ConnectError("bad", Code.InvalidArgument, undefined, [violation]);
  const found = {
    "@type": "type.googleapis.com/google.rpc.BadRequest",
    fieldViolations: [{ field: "id" }],
  };

  test.each<[reason: unknown, title: string | undefined, problem: object]>([
    [new ConnectError("no", Code.NotFound), "Not Found", { status: 404, detail: "no", code: 5 }],
    [bad, "Bad Request", { status: 400, detail: "bad", code: 3, details: [found] }],
    [new ConnectError("", Code.Aborted), "Conflict", { status: 409, code: 10 }],
    [new ConnectError("left", Code.Canceled), undefined, { status: 499, detail: "left", code: 1 }],
    [
      new RestFailure(413, Code.ResourceExhausted, "large"),
      "Payload Too Large",
      { status: 413, detail: "large", code: 8 },
    ],
    [new Error("no"), "Internal Server Error", { status: 500, detail: "internal error", code: 13 }],
  ])("%o", (reason, title, problem) => {
    const { status, contentType, body } = renderProblem(restErrorFrom(reason));
    const named = { type: "about:blank", ...(title && { title }), details: [] };
    expect(body).toEqual({ ...named, ...problem });
    expect(body).toMatchObject({ status });
    expect(contentType).toBe(problemType);
  });
});

describe.each(versions)("over HTTP/%s, the media type is that of the renderer", (version) => {
  const options = { rest: { renderError: renderProblem } };

  test.each<[what: string, request: SentRequest, status: number]>([
    ["of an error of a call", get("/v1/volumes/9"), 404],
    ["of a path that is not there", get("/nothing"), 404],
    ["of a method that is not there", send("DELETE", "/v1/volumes/9", ""), 405],
    ["of an unknown parameter", get("/v1/volumes/9?a"), 400],
    ["of a body that is none", send("POST", "/v1/shelves/a/volumes", "{"), 400],
    ["of a stream that does not begin", get("/v1/shelves/a/volumes:watch"), 501],
  ])("%s", async (_what, request, status) => {
    const getVolume = () => Promise.reject(new ConnectError("none", Code.NotFound));
    await using gateway = await openShelves({ getVolume }, options);
    const response = await gateway.send({ version, ...request });
    expect(response.headers.get("content-type")).toBe(problemType);
    expect(response.status).toBe(status);
    expect(response.headers.has("allow")).toBe(status === 405);
    expect(jsonOf(response)).toMatchObject({ type: "about:blank", status });
  });

  test("but not in a stream that has begun, which keeps its own media type", async () => {
    await using gateway = await openShelves(
      {
        async *watchVolumes() {
          yield { id: 1n };
          throw new ConnectError("torn", Code.DataLoss);
        },
      },
      options,
    );
    const response = await gateway.send({ version, ...get("/v1/shelves/a/volumes:watch") });
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(response.body.toString()).toContain('{"error":{"type":"about:blank"');
  });
});
