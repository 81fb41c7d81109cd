/** The generators against servers that keep what they got, and answer wrong where told. */

import http from "node:http";
import http2 from "node:http2";
import { buffer, text } from "node:stream/consumers";
import { fromBinary, fromJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { Load } from "../../bench/load/load.ts";
import { runLoad } from "../../bench/load/run-load.ts";
import { type IdOrder, plantId } from "../../bench/plant-ids.ts";
import { answers, type Http1RequestKind, type RequestKind } from "../../bench/requests.ts";
import {
  CreatePlantRequestSchema,
  type NewPlant,
} from "../../gen/plantstore/v1/plant_service_pb.ts";
import { listen } from "../../packages/gateway/test/support/free-port.ts";

type IsRefused = (n: number) => boolean;

function openServer(kind: RequestKind, isRefused: IsRefused = () => false) {
  return kind === "grpc" ? openGrpc(isRefused) : openHttp1(kind, isRefused);
}

async function openHttp1(kind: Http1RequestKind, isRefused: IsRefused) {
  const plants: (NewPlant | undefined)[] = [];
  const server = http.createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    const json = kind === "mcp" ? body.params.arguments : kind === "rest" ? { plant: body } : body;
    const { plant } = fromJson(CreatePlantRequestSchema, json);
    const status = isRefused(plants.push(plant) - 1) ? 503 : 200;
    // Chunked, where no length is told before.
    response.writeHead(status, { "content-type": "application/json" });
    response.write(answers[kind]);
    response.end();
  });
  return { ...(await listen(server)), plants };
}

async function openGrpc(isRefused: IsRefused) {
  const plants: (NewPlant | undefined)[] = [];
  const server = http2.createServer();
  server.on("stream", async (stream: http2.ServerHttp2Stream) => {
    const body = await buffer(stream);
    const { plant } = fromBinary(CreatePlantRequestSchema, body.subarray(5));
    const status = isRefused(plants.push(plant) - 1) ? "14" : "0";
    stream.respond({ "content-type": "application/grpc+proto" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
    stream.end(answers.grpc);
  });
  return { ...(await listen(server)), plants };
}

/** @param answer Called once the whole request has arrived. */
function openSimple(answer: (response: http.ServerResponse) => unknown) {
  return listen(
    http.createServer((request, response) => {
      request.resume().on("end", () => answer(response));
    }),
  );
}

function loadOf(url: string, kind: RequestKind, order: IdOrder = "ascending"): Load {
  const ids = { stream: 3, order };
  const streams = kind === "grpc" ? 8 : 1;
  return { urls: [url], kind, ids, connections: 4, streams, until: { requests: 500 } };
}

describe.each<RequestKind>(["rest", "connect", "mcp", "grpc"])("a load of %s", (kind) => {
  test.each<IdOrder>(["ascending", "random"])("makes each plant of %s ids once", async (order) => {
    await using server = await openServer(kind);
    const { created, failed } = await runLoad(loadOf(server.url, kind, order));
    expect(failed).toBe(0);
    expect(created).toBe(server.plants.length);
    const ids = server.plants.map((plant) => plant?.id ?? 0n);
    const expected = ids.map((_, n) => BigInt(plantId({ stream: 3, order }, n)));
    expect(new Set(ids)).toEqual(new Set(expected));
    const texts = new Set(server.plants.map((plant) => `${plant?.name} ${plant?.tag}`));
    expect([...texts]).toEqual(["Basil herb"]);
  });

  test("counts every answer that is not a success as failed", async () => {
    await using server = await openServer(kind, (n) => n >= 100 && n % 7 === 0);
    const { created, failed } = await runLoad(loadOf(server.url, kind));
    expect(created + failed).toBe(server.plants.length);
    expect(failed).toBe(server.plants.filter((_, n) => n >= 100 && n % 7 === 0).length);
  });

  test("does not take a server for right that refuses everything", async () => {
    await using server = await openServer(kind, () => true);
    const outcome = runLoad(loadOf(server.url, kind));
    if (kind === "grpc") await expect(outcome).rejects.toThrow("grpc-status 14");
    else expect(await outcome).toMatchObject({ created: 0, failed: 500 });
  });

  test("at a given rate, sends nothing before it has fallen due", async () => {
    await using server = await openServer(kind);
    const load: Load = { ...loadOf(server.url, kind), until: { requests: 50 }, rate: 200 };
    const { created, requestsPerSecond } = await runLoad(load);
    expect(created).toBe(server.plants.length);
    expect(created).toBe(50 + (kind === "grpc" ? 3 * load.connections : 0));
    expect(requestsPerSecond).toBeLessThanOrEqual(200);
  });
});

test("what is sent to warm up is stored, and not measured", async () => {
  const slowMs = 800;
  let answered = 0;
  await using recording = await openSimple((response) => {
    setTimeout(() => response.end(answers.rest), ++answered <= 10 ? slowMs : 0);
  });
  const { created, p99Ms } = await runLoad({
    ...loadOf(recording.url, "rest"),
    ...{ connections: 20, until: { seconds: 0.3 }, warmUpSeconds: 0.3, rate: 100 },
  });
  expect(created).toBe(answered);
  expect(answered).toBeGreaterThan(10);
  expect(p99Ms).toBeLessThan(slowMs); // what was slow was sent to warm up
});
