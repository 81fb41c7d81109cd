/**
 * Strangers cost no work: who has no token is answered from the headers alone,
 * before one byte of the body is read, decompressed or parsed.
 */
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { exchange, type HttpRequest } from "../../packages/gateway/test/support/http-exchange.ts";
import { authorization } from "../support/plant-request.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { useTestServer } from "../support/use-test-server.ts";

/** 1.5 MB that do not compress, and unpack to a JSON text of 2 MB. */
const packed = gzipSync(`{"id":1,"name":"${randomBytes(1_500_000).toString("base64")}"}`);

const server = useTestServer();

test.each(rawProtocols)("over $name a stranger is answered first", async (protocol) => {
  const asked = protocol.request(packed, { authorization: null, coding: "gzip" });
  const { body } = asked;
  async function codeFor(sent: Partial<HttpRequest>) {
    const headers = { ...asked.headers, ...sent.headers };
    const request = { ...asked, origin: server.url, ...sent, headers };
    return refusalOf(protocol.read(await exchange(request))).code;
  }
  // The announced length is that of the whole; the rest never comes.
  const begun = {
    headers: { "content-length": String(body.length) },
    body: body.subarray(0, 1000),
  };
  expect(await codeFor({ ...begun, unfinished: true })).toBe(Code.Unauthenticated);
  // For its size, to who has a token.
  expect(await codeFor({ headers: { authorization } })).toBe(Code.ResourceExhausted);
  // It would not unpack.
  body.fill(0xff, 5);
  expect(await codeFor({})).toBe(Code.Unauthenticated);
});
