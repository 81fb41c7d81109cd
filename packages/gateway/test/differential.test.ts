/** Compares REST with Connect: equivalent calls must look the same to the implementation. */
import { once } from "node:events";
import { fromBinary, toBinary, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../gen/google/rpc/error_details_pb.ts";
import { type EveryField, EveryFieldSchema, FieldService } from "./gen/library/v1/fields_pb.ts";
import { anyMessage } from "./support/arbitrary-message.ts";
import { createEchoService } from "./support/echo.ts";
import { jsonOf, openGateway, type SentRequest } from "./support/gateway.ts";
import { within } from "./support/within.ts";

const connectPath = "/library.v1.FieldService/Echo";
const json = { "content-type": "application/json" };
const binary = { "content-type": "application/proto" };

type Echo = (request: unknown, context: HandlerContext) => object | Promise<object>;

function openEcho(echo: Echo) {
  return openGateway({
    routes: (router) => {
      router.service(FieldService, { echo });
    },
  });
}

/** Equal for equal messages, whatever type holds their bytes. */
function hexOf(message: EveryField): string {
  return Buffer.from(toBinary(EveryFieldSchema, message)).toString("hex");
}

describe("a message", () => {
  test.each(["1.1", "2"] as const)(
    "is equal for the implementation, over HTTP/%s",
    async (version) => {
      const service = createEchoService();
      await using gateway = await openGateway({
        routes: (router) => {
          router.service(FieldService, service);
        },
      });
      await fc.assert(
        fc.asyncProperty(anyMessage(EveryFieldSchema), async (message) => {
          const text = toJsonString(EveryFieldSchema, message);
          const bytes = toBinary(EveryFieldSchema, message);
          const from = service.received.length;
          const rest = await gateway.send({
            version,
            path: "/v1/fields",
            headers: json,
            body: text,
          });
          const byJson = { version, path: connectPath, headers: json, body: text };
          const connect = await gateway.send(byJson);
          const byBinary = { version, path: connectPath, headers: binary, body: bytes };
          const proto = await gateway.send(byBinary);
          const received = service.received.slice(from);
          expect(received.map(hexOf)).toEqual([message, message, message].map(hexOf));
          expect(rest.body.toString()).toBe(connect.body.toString());
          expect(hexOf(fromBinary(EveryFieldSchema, proto.body))).toBe(hexOf(message));
        }),
        { numRuns: 60 },
      );
    },
  );
});

/** What a client sees of an error, in the same form for both protocols. */
interface SeenError {
  readonly status: number;
  readonly code: Code | undefined;
  readonly message: unknown;
  readonly details: unknown;
}

async function errorsBoth(error: ConnectError): Promise<{ rest: SeenError; connect: SeenError }> {
  await using gateway = await openEcho(() => {
    throw error;
  });
  const rest = await gateway.send({ path: "/v1/fields", headers: json, body: "{}" });
  const connect = await gateway.send({ path: connectPath, headers: json, body: "{}" });
  const byRest = jsonOf(rest) as { code: Code; message: string; details: { "@type": string }[] };
  const byConnect = jsonOf(connect) as {
    code: string;
    message?: string;
    details?: { type: string; debug: object }[];
  };
  return {
    rest: { status: rest.status, ...byRest },
    connect: {
      status: connect.status,
      code: codeFromString(byConnect.code),
      message: byConnect.message ?? "",
      details: (byConnect.details ?? []).map(({ type, debug }) => ({
        "@type": `type.googleapis.com/${type}`,
        ...debug,
      })),
    },
  };
}

const codes = Object.values(Code).filter((code) => typeof code === "number");

describe("an error", () => {
  const details = [
    { desc: RetryInfoSchema, value: { retryDelay: { seconds: 2n, nanos: 5 } } },
    { desc: BadRequestSchema, value: { fieldViolations: [{ field: "a.b", description: "é" }] } },
    { desc: ErrorInfoSchema, value: { reason: "WHY", domain: "d", metadata: { a: "1" } } },
  ];

  test.each(codes.map((code) => [Code[code], code] as const))(
    "%s has the same status, code, message and details",
    async (_name, code) => {
      const { rest, connect } = await errorsBoth(new ConnectError("no 🌱", code, {}, details));
      expect(rest).toEqual(connect);
      expect(rest).toMatchObject({ code, message: "no 🌱" });
      expect(rest.details).toHaveLength(3);
    },
  );

  test("without message or details has none", async () => {
    const { rest, connect } = await errorsBoth(new ConnectError("", Code.Aborted));
    expect(rest).toEqual(connect);
    expect(rest).toMatchObject({ message: "", details: [] });
  });

  test("has the same headers", async () => {
    await using gateway = await openEcho((_request, { responseHeader }) => {
      responseHeader.set("x-set", "1");
      throw new ConnectError("", Code.NotFound, { "x-meta": "2", "www-authenticate": "Bearer" });
    });
    for (const path of ["/v1/fields", connectPath]) {
      const { headers } = await gateway.send({ path, headers: json, body: "{}" });
      expect(headers.get("x-set")).toBe("1");
      expect(headers.get("x-meta")).toBe("2");
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
  });
});

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  test("the implementation sees the same request, except for its protocol", async () => {
    const seen: HandlerContext[] = [];
    await using gateway = await openEcho((request, context) => {
      seen.push(context);
      return request as object;
    });
    const headers = { ...json, "x-one": "1", "x-bin": "AAE=", authorization: "Bearer t" };
    for (const path of ["/v1/fields", connectPath]) {
      await gateway.send({ version, path, headers, body: "{}" });
    }
    const [rest, connect] = seen.map((context) => ({
      header: [...context.requestHeader].filter(([name]) => name !== "host"),
      method: context.method.name,
      service: context.service.typeName,
      requestMethod: context.requestMethod,
    }));
    expect(rest).toEqual(connect);
    expect(rest?.header).toContainEqual(["x-one", "1"]);
    expect(seen.map(({ protocolName }) => protocolName)).toEqual(["rest", "connect"]);
  });

  test("headers and trailers of an answer are the same", async () => {
    await using gateway = await openEcho((request, context) => {
      context.responseHeader.set("x-head", "1");
      context.responseTrailer.set("x-tail", "2");
      return request as object;
    });
    for (const path of ["/v1/fields", connectPath]) {
      const { headers } = await gateway.send({ version, path, headers: json, body: "{}" });
      expect(headers.get("x-head")).toBe("1");
      expect(headers.get("trailer-x-tail")).toBe("2");
    }
  });
});

describe("a deadline", () => {
  const paths = ["/v1/fields", connectPath];

  test("reaches the implementation, and ends the call", async () => {
    const seen: (number | undefined)[] = [];
    await using gateway = await openEcho(async (_request, { signal, timeoutMs }) => {
      seen.push(timeoutMs());
      if (!signal.aborted) await once(signal, "abort");
      throw signal.reason;
    });
    for (const path of paths) {
      const headers = { ...json, "connect-timeout-ms": "50" };
      const { status } = await gateway.send({ path, headers, body: "{}" });
      expect(status).toBe(504);
    }
    expect(seen).toEqual([expect.any(Number), expect.any(Number)]);
    for (const timeoutMs of seen) expect(timeoutMs).toBeLessThanOrEqual(50);
  });

  test.each(["", "-1", "1.5", "soon", "12345678901"])("%j is rejected", async (timeout) => {
    await using gateway = await openEcho(() => ({}));
    for (const path of paths) {
      const headers = { ...json, "connect-timeout-ms": timeout };
      expect(await gateway.send({ path, headers, body: "{}" })).toMatchObject({ status: 400 });
    }
  });
});

describe("a client that leaves", () => {
  test.each([
    ["REST", "/v1/fields"],
    ["Connect", connectPath],
  ])("%s: cancels the call", async (_protocol, path) => {
    const entered = Promise.withResolvers<void>();
    const left = Promise.withResolvers<unknown>();
    await using gateway = await openEcho(async (_request, { signal }) => {
      entered.resolve();
      if (!signal.aborted) await once(signal, "abort");
      left.resolve(signal.aborted);
      throw signal.reason;
    });
    const client = new AbortController();
    const request: RequestInit = { method: "POST", headers: json, body: "{}" };
    const answer = fetch(gateway.origin("1.1") + path, { ...request, signal: client.signal });
    const failed = expect(answer).rejects.toThrow();
    await within("the call", entered.promise);
    client.abort();
    await failed;
    expect(await within("the end of the call", left.promise)).toBe(true);
  });
});

test.each<[what: string, request: Omit<SentRequest, "path">, status: number]>([
  ["no JSON", { headers: json, body: "{" }, 400],
  ["a field of another type", { headers: json, body: '{"int64":{}}' }, 400],
  ["another media type", { headers: { "content-type": "text/plain" }, body: "{}" }, 415],
  ["a gzip that is none", { headers: { ...json, "content-encoding": "gzip" }, body: "{}" }, 400],
])("both reject %s", async (_what, request, status) => {
  await using gateway = await openEcho(() => ({}));
  for (const path of ["/v1/fields", connectPath]) {
    expect(await gateway.send({ ...request, path })).toMatchObject({ status });
  }
});
