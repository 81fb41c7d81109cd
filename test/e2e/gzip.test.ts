/** Requests that are compressed, by the rules of each protocol. */
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { envelope } from "../../packages/gateway/test/support/envelope.ts";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken, openTestServer, type TestServer } from "../support/test-server.ts";

describe("a request in gzip", () => {
  let server: TestServer;
  let lastId = 0n;

  beforeAll(async () => {
    server = await openTestServer();
    return () => server.close();
  });

  test.each(rawProtocols)("creates a plant over $name", async (protocol) => {
    const plant = { id: ++lastId, name: "Basil ".repeat(1000), tag: "herb" };
    const message = gzipSync(protocol.encode(plant));
    const isEnveloped = protocol.name.startsWith("gRPC");
    const response = await exchange({
      origin: server.url,
      version: protocol.version,
      path: protocol.path,
      headers: {
        authorization: `Bearer ${knownToken}`,
        "content-type": protocol.contentType,
        [isEnveloped ? "grpc-encoding" : "content-encoding"]: "gzip",
        // What connect-es would answer in gzip otherwise.
        [isEnveloped ? "grpc-accept-encoding" : "accept-encoding"]: "identity",
      },
      body: isEnveloped ? envelope(message, 1) : message,
    });
    expect(protocol.read(response)).toEqual({ ok: { name: plant.name, tag: "herb" } });
    const stored = readStoredPlants(server.database).find(({ id }) => id === plant.id);
    expect(stored).toEqual(storedForm(plant));
  });
});
