/** What is wrong with a request of Connect, gRPC or gRPC-Web: an error of that protocol. */
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { exchange, type HttpRequest } from "../../packages/gateway/test/support/exchange.ts";
import { bodyBytesMax, faces, plant } from "../support/malformed/rpc.ts";
import { authorization } from "../support/plant-request.ts";
import { createPlantPath } from "../support/protocol/message.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import { useTestServer } from "../support/use-test-server.ts";

describe.each(faces)("over $name", ({ protocol, contentType, rows }) => {
  const server = useTestServer({ limits: { bodyBytesMax } });

  function send({ headers, ...sent }: Partial<HttpRequest>) {
    const request = { origin: server.url, version: protocol.version, path: createPlantPath };
    const all = { authorization, "content-type": contentType, ...headers };
    return exchange({ ...request, headers: all, ...sent });
  }

  function expectStatus(status: number, code: Code): void {
    if (protocol.name.startsWith("gRPC")) expect(status).toBe(200);
    else expect(String(status)).toMatch(code === Code.Unimplemented ? /^501$/ : /^4\d\d$/);
  }

  async function expectGoodAnswer() {
    const outcome = await protocol.send(server.url, protocol.encode({ ...plant, id: 1000n }));
    expect(outcome).toEqual({ ok: { name: "Basil" } });
    expect(readStoredPlants(server.database).map(({ id }) => id)).toEqual([1000n]);
  }

  test.each(rows)("refuses $what", async (row) => {
    const { body, headers = {} } = row;
    const response = await send({ body, headers });
    expectStatus(response.status, row.code);
    const refusal = refusalOf(protocol.read(response));
    expect(refusal.code).toBe(row.code);
    expect(refusal.message).not.toBe("");
    expect(refusal.message.isWellFormed()).toBe(true);
    expect(refusal.message).not.toMatch(/\p{Cc}/u);
    const accepted = [...response.headers].filter(([name]) => name.endsWith("accept-encoding"));
    expect(accepted.map(([, names]) => names)).toEqual(row.what === "Brotli" ? ["gzip"] : []);
    await expectGoodAnswer();
  });
});
