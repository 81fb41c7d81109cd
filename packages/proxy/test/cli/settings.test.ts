import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CorsOptions, gatewayNodeAdapter } from "connect-gateway";
import { type GrpcTransportOptions, openGrpcTransport } from "connect-gateway/client";
import { createMcp, type McpOptions } from "connect-gateway/mcp";
import { createOpenApiDocument } from "connect-gateway/openapi";
import { type ServeOptions, serve } from "connect-gateway/server";
import { expect, test } from "vitest";
import { proxyProgram } from "../../src/cli/settings.ts";
import {
  type ProxyOptions,
  proxyServices,
  type ReflectionWatchOptions,
  watchReflection,
} from "../../src/services/index.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/settings.md"), "utf8");
const [, section = ""] = page.split(/^## Options of the libraries$/m);

/** The options that each function has, by the error for another. */
const nothing = { none: true } as object;
const routes = () => {};
test.each<[container: string, refuse: () => unknown]>([
  ["serve", () => serve(nothing as ServeOptions)],
  ["limits", () => serve({ routes, port: 0, limits: nothing })],
  ["rest", () => gatewayNodeAdapter({ routes, rest: nothing })],
  ["cors", () => gatewayNodeAdapter({ routes, cors: nothing as CorsOptions })],
  ["mcp", () => createMcp(nothing as McpOptions)],
  ["createOpenApiDocument", () => createOpenApiDocument([], nothing)],
  ["openGrpcTransport", () => openGrpcTransport(nothing as GrpcTransportOptions)],
  ["proxyServices", () => proxyServices(nothing as ProxyOptions)],
  ["watchReflection", () => watchReflection(nothing as ReflectionWatchOptions)],
])("%s has the options that the page names", async (container, refuse) => {
  const { message } = await (async () => refuse())().then(
    () => expect.fail("it took an option that it does not have"),
    (error: unknown) => error as TypeError,
  );
  const options = message.split("the options are ")[1]?.split(", ") ?? [];
  expect(options.length, message).toBeGreaterThan(2);
  const named = [...section.matchAll(/`(\w+)\.(\w+)`/g)];
  const ofPage = named.flatMap(([, where, option = ""]) => (where === container ? [option] : []));
  expect(ofPage.length).toBeGreaterThan(0);
  expect(options).toEqual(expect.arrayContaining(ofPage));
});

test("the page says which options all settings are", () => {
  const cells = [...section.matchAll(/^\| (`[^|]*)/gm)].map(([, cell = ""]) => cell);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  expect(named.sort()).toEqual(proxyProgram.entries.map(({ name }) => name).sort());
});
