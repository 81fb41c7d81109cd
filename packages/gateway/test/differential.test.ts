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
import { jsonOf, openGateway } from "./support/gateway.ts";

const connectPath = "/library.v1.FieldService/Echo";
const json = { "content-type": "application/json" };
const binary = { "content-type": "application/proto" };

type Echo = (request: unknown, context: HandlerContext) => object | Promise<object>;

function openEcho(echo: Echo) {
  return openGateway({ routes: (router) => router.service(FieldService, { echo }) });
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
        routes: (router) => router.service(FieldService, service),
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
        { numRuns: 30 },
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

describe("an error", () => {
  const details = [
    { desc: RetryInfoSchema, value: { retryDelay: { seconds: 2n, nanos: 5 } } },
    { desc: BadRequestSchema, value: { fieldViolations: [{ field: "a.b", description: "é" }] } },
    { desc: ErrorInfoSchema, value: { reason: "WHY", domain: "d", metadata: { a: "1" } } },
  ];

  test("has the same status, code, message and details", async () => {
    const error = new ConnectError("no 🌱", Code.DataLoss, {}, details);
    const { rest, connect } = await errorsBoth(error);
    expect(rest).toEqual(connect);
    expect(rest).toMatchObject({ code: Code.DataLoss, message: "no 🌱" });
    expect(rest.details).toHaveLength(3);
  });

  test("without message or details has none", async () => {
    const { rest, connect } = await errorsBoth(new ConnectError("", Code.Aborted));
    expect(rest).toEqual(connect);
    expect(rest).toMatchObject({ message: "", details: [] });
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
