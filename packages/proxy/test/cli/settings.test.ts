import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CorsOptions, gatewayNodeAdapter } from "connect-gateway";
import { type GrpcTransportOptions, openGrpcTransport } from "connect-gateway/client";
import { createMcp, type McpOptions } from "connect-gateway/mcp";
import { createOpenApiDocument } from "connect-gateway/openapi";
import { type ServeOptions, serve } from "connect-gateway/server";
import { findProblem } from "connect-gateway-kit/settings";
import { expect, test } from "vitest";
import { proxyProgram } from "../../src/cli/settings.ts";
import {
  type ProxyOptions,
  proxyServices,
  type ReflectionWatchOptions,
  watchReflection,
} from "../../src/services/index.ts";

test("the schema has no name twice", () => {
  const names = proxyProgram.entries.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test.each(proxyProgram.entries.map((entry) => [entry.name, entry.setting] as const))(
  "the schema takes its own default of %s",
  (_, setting) => {
    expect(findProblem(setting, setting.default)).toBeUndefined();
  },
);

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
])("the page says which settings the options of %s are", async (container, refuse) => {
  const { message } = await (async () => refuse())().then(
    () => expect.fail("it took an option that it does not have"),
    (error: unknown) => error as TypeError,
  );
  const options = message.split("the options are ")[1]?.split(", ") ?? [];
  expect(options.length, message).toBeGreaterThan(2);
  const named = [...section.matchAll(/`(\w+)\.(\w+)`/g)];
  const ofPage = named.flatMap(([, where, option = ""]) => (where === container ? [option] : []));
  expect([...new Set(ofPage)].sort()).toEqual(options.sort());
});

test("the page says which options all settings are", () => {
  const rows = [...section.matchAll(/^\| `([a-z0-9-]+)` +\|/gm)].map(([, name]) => name);
  expect(rows.sort()).toEqual(proxyProgram.entries.map(({ name }) => name).sort());
});
