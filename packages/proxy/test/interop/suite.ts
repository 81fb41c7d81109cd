/**
 * gRPC's interop cases: the client of grpc-go before our server, and before the proxy in front of the server of grpc-go.
 * https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { createRegistry } from "@bufbuild/protobuf";
import { type ConnectRouter, createClient } from "@connectrpc/connect";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import { compressionGzip } from "connect-gateway";
import { type GrpcTransport, openGrpcTransport } from "connect-gateway/client";
import { serve } from "connect-gateway/server";
import { findFreePort } from "../../../gateway/test/support/free-port.ts";
import { isListening } from "../../../gateway/test/support/is-listening.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { defaultRequestMetadata, proxyServices } from "../../src/services/index.ts";
import { file_grpc_testing_test, TestService } from "./gen/grpc/testing/test_pb.ts";
import { testService } from "./service.ts";

export interface Programs {
  readonly server: string;
  readonly client: string;
  /** Certificates of grpc-go, for names such as `foo.test.google.fr`. */
  readonly caFile: string;
}

/** grpc-go has no case for compression. */
const cases = [
  ...["empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong"],
  ...["empty_stream", "timeout_on_sleeping_server", "cancel_after_begin"],
  ...["cancel_after_first_response", "custom_metadata", "status_code_and_message"],
  ...["special_status_message", "unimplemented_method", "unimplemented_service"],
];

type Check = (name: string, check: () => Promise<unknown>) => Promise<void>;

/** @param add Runs a case, and counts it. */
export async function runInterop(programs: Programs, add: Check): Promise<void> {
  const run = (name: string, work: () => Promise<unknown>) =>
    add(name, () => within(name, work(), 20_000));
  await using secure = await startGoServer(programs.server, ["-use_tls"]);
  const tls = () => ({ ca: readFileSync(programs.caFile), serverName: "foo.test.google.fr" });
  const url = `https://127.0.0.1:${secure.port}`;
  const upstream = openGrpcTransport({ url, tls, quietMsMax: 250 });
  await run("a quiet stream", () => keepQuiet(upstream));
  const routes: Record<string, (router: ConnectRouter) => unknown> = {
    server: (router) => router.service(TestService, testService),
    proxy: proxyServices({
      services: [TestService],
      registry: createRegistry(file_grpc_testing_test),
      transport: upstream,
      requestMetadata: [
        ...defaultRequestMetadata,
        ...["x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"],
      ],
    }),
  };
  for (const [what, add] of Object.entries(routes)) {
    const server = await serve({
      ...{ host: "127.0.0.1", port: 0, acceptCompression: [compressionGzip] },
      routes: (router) => void add(router),
    });
    for (const name of cases) {
      const args = ["-server_host", "127.0.0.1", "-server_port", `${server.address.port}`];
      await run(`${what}, ${name}`, () =>
        promisify(execFile)(programs.client, [...args, "-test_case", name]),
      );
    }
    await server.drain(0);
  }
  upstream.close();
}

/** With a watch of 20 ms, a server that cuts who pings too often is asked 50 times. */
async function keepQuiet(transport: GrpcTransport): Promise<void> {
  const requests = createWritableIterable<{ responseParameters: { size: number }[] }>();
  const answers = createClient(TestService, transport).fullDuplexCall(requests);
  const answer = answers[Symbol.asyncIterator]().next();
  await setTimeout(2000);
  void requests.write({ responseParameters: [{ size: 1 }] });
  assert.equal((await answer).value?.payload?.body.length, 1);
  requests.close();
}

async function startGoServer(file: string, args: readonly string[]) {
  const port = await findFreePort();
  const program = spawn(file, ["-port", `${port}`, ...args], { stdio: "ignore" });
  while (!(await isListening(port))) await setTimeout(20);
  return {
    port,
    async [Symbol.asyncDispose]() {
      program.kill();
      await once(program, "close");
    },
  };
}
