/** grpc.reflection: what tools ask so as to need no proto file. */
import { Code } from "@connectrpc/connect";
import { ServerReflection } from "connect-gateway/reflection";
import { expect, test } from "vitest";
import { grpcProtocol } from "../../packages/gateway/test/support/open-client.ts";
import { openTestServer } from "../support/test-server.ts";

const services = [
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
  "plantstore.v1.PlantService",
];

async function* ask() {
  yield { messageRequest: { case: "listServices", value: "" } } as const;
}

/** The services that are listed, without a token. */
async function list(url: string): Promise<string[]> {
  using reflection = grpcProtocol.open(ServerReflection, url);
  const names: string[] = [];
  for await (const { messageResponse } of reflection.client.serverReflectionInfo(ask())) {
    if (messageResponse.case !== "listServicesResponse") throw new Error("no services");
    names.push(...messageResponse.value.service.map(({ name }) => name));
  }
  return names;
}

test("the services are listed without a token, at the root and below a base path", async () => {
  await using server = await openTestServer({ basePath: "/api" });
  for (const url of [new URL(server.url).origin, server.url]) {
    expect(await list(url)).toEqual(services);
  }
});

test("what is switched off is neither served nor listed", async () => {
  await using without = await openTestServer({ reflection: false });
  await expect(list(without.url)).rejects.toMatchObject({ code: Code.Unimplemented });
  await using unhealthy = await openTestServer({ health: false });
  const listed = services.filter((name) => name !== "grpc.health.v1.Health");
  expect(await list(unhealthy.url)).toEqual(listed);
});
