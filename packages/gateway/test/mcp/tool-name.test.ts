/** Names of tools, also of very many. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { gatewayFetchHandler } from "../../src/index.ts";
import { createMcp } from "../../src/mcp/index.ts";
import { toolNames } from "../../src/mcp/tool.ts";
import { describeMethods } from "../support/described-method.ts";

const method = (typeName: string, name: string) =>
  ({ name, parent: { typeName, name: typeName.split(".").at(-1) } }) as DescMethod;

test.each([
  ["a.v1.S/GetURLInfo a.v1.S/List2Things", "get_url_info list2_things"],
  ["a.v1.S/Get a.v1.T/Get a.v1.T/Put", "s_get t_get put"],
  ["a.v1.S/Get b.v1.S/Get", "a_v1_s_get b_v1_s_get"],
  ["a.v1.S/Get a.v1.T/Get a.v1.T/SGet", "a_v1_s_get t_get s_get"],
])("of %j", (given, names) => {
  const methods = given.split(" ").map((full) => {
    const [typeName = "", name = ""] = full.split("/");
    return method(typeName, name);
  });
  for (const order of [methods, [...methods].reverse()]) {
    const found = toolNames(order);
    expect(methods.map((one) => found.get(one)).join(" ")).toBe(names);
  }
});

test("a long name is cut, and stays unique", () => {
  const methods = ["A", "B"].map((end) => method("a.v1.S", `Get${"x".repeat(80)}${end}`));
  const names = [...toolNames(methods).values()];
  expect(new Set(names).size).toBe(2);
  for (const name of names) expect(name).toHaveLength(64);
});

test("1,000 tools are listed in pages", async () => {
  const types = { input: EmptySchema, output: EmptySchema };
  const methods = Array.from({ length: 1000 }, (_, index) => ({
    name: `Method${index}`,
    ...types,
  }));
  const [first] = describeMethods(methods);
  const service = first?.parent as DescService;
  const handler = gatewayFetchHandler({
    routes: (router) => void router.service(service, {}),
    mcp: createMcp({ tools: [service.typeName] }),
  });
  const headers = { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" };
  const pages: { readonly name: string }[][] = [];
  for (let cursor: unknown; pages.length === 0 || cursor !== undefined; ) {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/list",
      params: { cursor },
    });
    const request = new Request("http://localhost/mcp", { method: "POST", headers, body });
    const { result } = await (await handler(request)).json();
    pages.push(result.tools);
    cursor = result.nextCursor;
  }
  expect([new Set(pages.flat().map(({ name }) => name)).size, pages.length]).toEqual([1000, 5]);
});
