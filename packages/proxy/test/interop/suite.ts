/** gRPC's interop cases: our client before the server of grpc-go, and its client before ours, and before the proxy. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { createRegistry } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { compressionGzip } from "connect-gateway";
import { type GrpcTransport, openGrpcTransport } from "connect-gateway/client";
import { serve } from "connect-gateway/server";
import { findFreePort } from "../../../gateway/test/support/free-port.ts";
import { isListening } from "../../../gateway/test/support/is-listening.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { defaultRequestMetadata, proxyServices } from "../../src/services/index.ts";
import { cases } from "./cases.ts";
import { file_grpc_testing_test, TestService } from "./gen/grpc/testing/test_pb.ts";
import { testService } from "./service.ts";

export interface Programs {
  readonly server: string;
  readonly client: string;
  /** Certificates of grpc-go, for names such as `foo.test.google.fr`. */
  readonly caFile: string;
}

/** grpc-go has no case for compression. */
const goCases = Object.keys(cases).filter((name) => name !== "quiet_stream");

/** @returns how many cases went well, and those that did not. */
export async function runInterop(programs: Programs) {
  const outcome = { passed: 0, failures: [] as string[] };
  const run = async (name: string, work: () => Promise<unknown>) => {
    try {
      await within(name, work(), 20_000);
      outcome.passed++;
    } catch (error) {
      outcome.failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  };
  await using plain = await startGoServer(programs.server, []);
  await using secure = await startGoServer(programs.server, ["-use_tls"]);
  const tls = () => ({ ca: readFileSync(programs.caFile), serverName: "foo.test.google.fr" });
  const transports: Record<string, GrpcTransport> = {
    plaintext: openGrpcTransport({ url: `http://127.0.0.1:${plain.port}`, quietMsMax: 250 }),
    TLS: openGrpcTransport({ url: `https://127.0.0.1:${secure.port}`, tls, quietMsMax: 250 }),
  };
  for (const [how, transport] of Object.entries(transports)) {
    for (const [name, test] of Object.entries(cases)) {
      await run(`client, ${how}, ${name}`, () => test(transport));
    }
    transport.close();
  }
  const upstream = openGrpcTransport({ url: `http://127.0.0.1:${plain.port}` });
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
    for (const name of goCases) {
      const args = ["-server_host", "127.0.0.1", "-server_port", `${server.address.port}`];
      await run(`${what}, ${name}`, () =>
        promisify(execFile)(programs.client, [...args, "-test_case", name]),
      );
    }
    await server.drain(0);
  }
  upstream.close();
  return outcome;
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
