/**
 * Strangers cost no work: who has no token is answered from the headers alone,
 * before one byte of the body is read, decompressed or parsed.
 */

import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { envelope } from "../../packages/gateway/test/support/envelope.ts";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { type RawProtocol, rawProtocols } from "../support/protocol/raw.ts";
import { knownToken } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

/** 10 MB that do not compress, and unpack to a JSON text of 10 MB. */
const packed = gzipSync(`{"id":1,"name":"${randomBytes(7_500_000).toString("base64")}"}`);

/** The body of 10 MB and the headers that announce it as compressed. */
function announce({ name, contentType }: RawProtocol, authorization?: string) {
  const isEnveloped = name.startsWith("gRPC");
  const body = isEnveloped ? envelope(packed, 1) : packed;
  const headers = {
    "content-type": contentType,
    [isEnveloped ? "grpc-encoding" : "content-encoding"]: "gzip",
    ...(authorization !== undefined && { authorization }),
  };
  return { body, headers };
}

describe.each(rawProtocols)("over $name", (protocol) => {
  const { version, path } = protocol;
  const server = useTestServer();

  test("answers a stranger while the body has not been sent", async () => {
    const { body, headers } = announce(protocol);
    const response = await exchange({
      origin: server.url,
      version,
      path,
      // The announced length is that of the whole; the rest never comes.
      headers: { ...headers, "content-length": String(body.length) },
      body: body.subarray(0, 1000),
      unfinished: true,
    });
    expect(refusalOf(protocol.read(response)).code).toBe(Code.Unauthenticated);
  });

  test("answers a stranger whose body would not unpack", async () => {
    const { body, headers } = announce(protocol);
    body.fill(0xff, 5);
    const response = await exchange({ origin: server.url, version, path, headers, body });
    expect(refusalOf(protocol.read(response)).code).toBe(Code.Unauthenticated);
  });

  test("refuses the same body for its size to who has a token", async () => {
    const { body, headers } = announce(protocol, `Bearer ${knownToken}`);
    const response = await exchange({ origin: server.url, version, path, headers, body });
    expect(refusalOf(protocol.read(response)).code).toBe(Code.ResourceExhausted);
  });
});
