/** Compares REST with Connect: equivalent calls must look the same to the implementation. */
import { fromBinary, toBinary, toJsonString } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type EveryField, EveryFieldSchema, FieldService } from "./gen/library/v1/fields_pb.ts";
import { anyMessage } from "./support/arbitrary-message.ts";
import { createEchoService } from "./support/echo.ts";
import { openGateway } from "./support/gateway.ts";

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

  test.each(["", "-1", "1.5", "soon", "12345678901"])("%j is rejected", async (timeout) => {
    await using gateway = await openEcho(() => ({}));
    for (const path of paths) {
      const headers = { ...json, "connect-timeout-ms": timeout };
      expect(await gateway.send({ path, headers, body: "{}" })).toMatchObject({ status: 400 });
    }
  });
});
