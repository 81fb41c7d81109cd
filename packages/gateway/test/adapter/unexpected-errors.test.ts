/** What `onError` receives for calls that fail. */
import { once } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { get, openShelves, send, versions } from "../support/catalog.ts";
import { envelope } from "../support/envelope.ts";
import type { SentRequest, TestGatewayOptions } from "../support/gateway.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { within } from "../support/within.ts";

const unexpected = new TypeError("undefined is not a function");
const meant = new ConnectError("not today", Code.FailedPrecondition);
const internal = new ConnectError("broken", Code.Internal);

/** A catalog whose methods all fail, a stream of answers after the first message. */
function failingWith(error: unknown) {
  return {
    getVolume: () => Promise.reject(error),
    async *watchVolumes({ parent }: { parent: string }) {
      if (parent !== "shelves/early") yield { id: 1n };
      throw error;
    },
    async importVolumes(requests: AsyncIterable<unknown>) {
      for await (const _ of requests);
      throw error;
    },
  };
}

function rpc(method: string, type: string): SentRequest {
  const body = type === "application/json" ? "{}" : envelope("{}");
  return { path: `/${CatalogService.typeName}/${method}`, headers: { "content-type": type }, body };
}

const calls: readonly [what: string, request: SentRequest][] = [
  ["REST", get("/v1/shelves/a/volumes/1")],
  ["Connect", rpc("GetVolume", "application/json")],
  ["gRPC-Web", rpc("GetVolume", "application/grpc-web+json")],
  ["gRPC", rpc("GetVolume", "application/grpc+json")],
  ["a stream of answers by REST", get("/v1/shelves/a/volumes:watch")],
  ["a stream of answers by REST that does not begin", get("/v1/shelves/early/volumes:watch")],
  ["a stream of requests by REST", send("POST", "/v1/shelves/a/volumes:import", "[{}]")],
  ["a stream of answers by Connect", rpc("WatchVolumes", "application/connect+json")],
  ["a stream of answers by gRPC-Web", rpc("WatchVolumes", "application/grpc-web+json")],
  ["a stream of requests by gRPC", rpc("ImportVolumes", "application/grpc+json")],
];

describe.each(versions)("over HTTP/%s,", (version) => {
  describe.each(calls)("of %s", (_what, request) => {
    async function errorsOf(error: unknown, options: Partial<TestGatewayOptions> = {}) {
      await using gateway = await openShelves(failingWith(error), { mayFail: true, ...options });
      await gateway.send({ version, ...request });
      return gateway.errors;
    }

    test.each<[what: string, error: unknown, told: readonly unknown[]]>([
      ["an error that nobody meant", unexpected, [unexpected]],
      ["a string", "broken", ["broken"]],
      ["an error that is meant for the client", meant, []],
      ["an internal error that is meant for the client", internal, []],
    ])("%s is reported once, or not at all", async (_name, error, told) => {
      expect(await errorsOf(error)).toEqual(told);
    });

    test.each<[where: string, Partial<TestGatewayOptions>]>([
      ["the gate", { requestGate: () => Promise.reject(unexpected) }],
      ["an interceptor", { interceptors: [() => () => Promise.reject(unexpected)] }],
    ])("an unexpected error of %s is reported once", async (_where, options) => {
      expect(await errorsOf(meant, options)).toEqual([unexpected]);
    });
  });

  test("an error in the middle of a raw body, which aborts it, is reported once", async () => {
    async function* streamVolume() {
      yield { contentType: "text/plain", data: Buffer.from("half of ") };
      throw unexpected;
    }
    await using gateway = await openShelves({ streamVolume }, { mayFail: true });
    const request = get("/v1/shelves/a/volumes/1:stream");
    await expect(gateway.send({ version, ...request })).rejects.toThrow();
    expect(gateway.errors).toEqual([unexpected]);
  });

  describe("what an implementation throws because of a deadline", () => {
    /** As from `fetch` and database drivers. */
    const given = new DOMException("This operation was aborted", "AbortError");

    async function untilAborted({ signal }: { signal: AbortSignal }): Promise<never> {
      if (!signal.aborted) await once(signal, "abort");
      throw given;
    }

    async function answerTo(request: SentRequest) {
      await using gateway = await openShelves({
        getVolume: (_request, context) => untilAborted(context),
        async *watchVolumes({ parent }, context) {
          if (parent !== "shelves/early") yield { id: 1n };
          await untilAborted(context);
        },
        importVolumes: (_requests, context) => untilAborted(context),
      });
      const headers = { ...request.headers, "connect-timeout-ms": "50", "grpc-timeout": "50m" };
      const answer = await gateway.send({ version, ...request, headers });
      expect(gateway.errors).toEqual([]);
      const grpcStatus = [answer.headers, answer.trailers].map((one) => one.get("grpc-status"));
      return `${answer.status} ${answer.body} grpc-status: ${grpcStatus.join("")}`;
    }

    test.each(calls)("is reported as the deadline, by %s", async (_what, request) => {
      expect(await answerTo(request)).toMatch(/^504 |"code":4,|deadline_exceeded|grpc-status: 4/);
    });
  });
});

test("a client that leaves during its body is not reported", async () => {
  const ended = Promise.withResolvers<void>();
  const observer = { begin: () => ({ end: () => ended.resolve() }) };
  await using gateway = await openShelves({}, { observer });
  using connection = await openRawConnection(gateway.port);
  const head = "Host: a\r\nContent-Type: application/json\r\nContent-Length: 9";
  connection.write(`POST /v1/shelves/a/volumes HTTP/1.1\r\n${head}\r\n\r\n{`);
  connection.socket.resetAndDestroy();
  await within("the end", ended.promise);
  expect(gateway.errors).toEqual([]);
});
