/** What connect-es knows nothing of. All else is compared with it by test/differential. */
import type { ServiceImpl } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { FieldService } from "../gen/library/v1/fields_pb.ts";
import { createEchoService, openFields } from "../support/echo.ts";
import { envelope, parseEnvelopes } from "../support/envelope.ts";
import type { SentRequest } from "../support/gateway.ts";

/** Sends to a FieldService that answers what it is sent. */
async function send(
  method: string,
  type: string,
  body: string | Uint8Array,
  more: Partial<SentRequest> = {},
  own: Partial<ServiceImpl<typeof FieldService>> = {},
) {
  await using gateway = await openFields({ ...createEchoService(), ...own });
  const headers = { "content-type": `application/${type}` };
  const request: SentRequest = { path: `/library.v1.FieldService/${method}`, headers, body };
  return await gateway.send({ ...request, ...more });
}

const message = envelope('{"string":"a"}');

test.each([
  ["Exchange", "connect+json", 505],
  ["Exchange", "grpc+json", 505],
  ["Exchange", "x-unknown", 505],
  ["Collect", "connect+json", 200],
  ["Repeat", "grpc-web+json", 200],
])("a stream of %s by %s over HTTP/1.1 is answered with %i", async (method, type, status) => {
  const answer = await send(method, type, message);
  expect(answer.status).toBe(status);
  if (status === 200) return;
  expect(answer.headers.get("connection")).toBe("close");
  expect(answer.body).toHaveLength(0);
});

describe.each(["Echo", "Collect", "Repeat"])("gRPC-Web text of %s", (method) => {
  const text = message.toString("base64");

  test("is gRPC-Web in base64", async () => {
    const { headers, body } = await send(method, "grpc-web-text+json", text);
    expect(headers.get("content-type")).toBe("application/grpc-web-text+json");
    const groups = body.toString().match(/[^=]+=*/g) ?? [];
    const binary = await send(method, "grpc-web+json", message);
    const decoded = Buffer.concat(groups.map((group) => Buffer.from(group, "base64")));
    expect(decoded).toEqual(binary.body);
    expect(parseEnvelopes(decoded).map(({ flags }) => flags)).toEqual(
      method === "Repeat" ? [0, 0, 0x80] : [0, 0x80],
    );
  });

  test("is refused if it ends amid a group", async () => {
    const { body } = await send(method, "grpc-web-text+json", `${text}A`);
    expect(Buffer.from(body.toString(), "base64").toString()).toContain("grpc-status: 3\r\n");
  });
});

test("an answer of gRPC-Web that announces trailers has no length: Node would refuse both", async () => {
  const echo: ServiceImpl<typeof FieldService>["echo"] = (one, { responseHeader }) => {
    responseHeader.set("trailer", "x-a");
    return one;
  };
  const { headers } = await send("Echo", "grpc-web+json", message, {}, { echo });
  expect(headers.get("trailer")).toBe("x-a");
  expect(headers.has("content-length")).toBe(false);
});
