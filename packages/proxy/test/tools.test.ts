/** The official clients call each operation of the catalog, with the results of REST. */
import { createMcp } from "connect-gateway/mcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { big, CatalogService, emma, ulysses, walden } from "../../gateway/test/support/catalog.ts";
import { clients, type McpClient } from "../../gateway/test/support/mcp-client.ts";
import { useCatalog, ways } from "./catalog-ways.ts";

const mcp = createMcp({ tools: [CatalogService.typeName] });
const least = "-9223372036854775808";

const cases = ways.flatMap((how) => clients.map(([by, connect]) => ({ how, by, connect })));

describe.each(cases)("$how, $by,", ({ how, connect }) => {
  const gateway = useCatalog(how, { mcp });
  let client: McpClient;

  beforeAll(async () => {
    client = await connect(`${gateway.current.origin("1.1")}/mcp`);
  });

  afterAll(() => client[Symbol.asyncDispose]());

  test.each<[name: string, args: object, result: unknown]>([
    ["get_volume", { name: walden.name }, walden],
    ["get_volume", { id: big }, emma],
    ["list_volumes", { parent: "shelves/a", pageSize: 1 }, { volumes: [walden] }],
    [
      "create_volume",
      { parent: "shelves/c", volume: { id: least, title: "É" } },
      { name: `shelves/c/volumes/${least}`, id: least, title: "É" },
    ],
    [
      "update_volume",
      { volume: { name: ulysses.name, title: "Dubliners" }, updateMask: "title" },
      { ...ulysses, title: "Dubliners" },
    ],
    ["delete_volume", { name: walden.name }, {}],
    [
      "move_volume",
      { name: walden.name, to: "shelves/z" },
      { ...walden, name: "shelves/z/volumes/1" },
    ],
    [
      "upload_volume",
      { name: walden.name, content: { contentType: "text/plain", data: "SGk=" } },
      walden,
    ],
    ["watch_volumes", { parent: "shelves/a" }, { messages: [walden, emma], truncated: false }],
    ["read_file", { path: "a/b" }, { path: "a/b" }],
  ])("%s with %j", async (name, args, result) => {
    const { structuredContent, content, isError } = await client.call(name, args);
    expect(structuredContent).toEqual(result);
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(result);
    expect(isError).toBeFalsy();
  });

  test("the text of a volume is content", async () => {
    const content = { contentType: "text/plain", data: "SGkg77+9" };
    await client.call("upload_volume", { name: walden.name, content });
    const downloaded = await client.call("download_volume", { name: walden.name });
    expect(downloaded).toMatchObject({ content: [{ type: "text", text: "Hi \ufffd" }] });
    expect(downloaded.structuredContent).toBeUndefined();
    const latin1 = { contentType: "text/plain; charset=latin1", data: "6Q==" };
    await client.call("upload_volume", { name: emma.name, content: latin1 });
    const { content: told } = await client.call("download_volume", { name: emma.name });
    const resource = { mimeType: latin1.contentType, blob: latin1.data };
    expect(told).toMatchObject([{ type: "resource", resource }]);
    const { structuredContent } = await client.call("stream_volume", { name: walden.name });
    expect(structuredContent).toMatchObject({ truncated: false });
  });

  test("a number that its client may have rounded is rejected", async () => {
    const exact = await client.call("get_volume", { id: Number.MAX_SAFE_INTEGER });
    expect(JSON.parse(exact.content[0]?.text ?? "")).toMatchObject({ code: "NOT_FOUND" });
    const rounded = await client.call("get_volume", { id: Number(big) });
    expect(JSON.parse(rounded.content[0]?.text ?? "")).toMatchObject({
      message: "id must be text past 2^53: as a number, it may be rounded",
    });
  });

  test("each method that takes one message is a tool", async () => {
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      ...["create_volume", "delete_volume", "download_volume", "get_volume", "list_volumes"],
      ...["move_volume", "read_file", "stream_volume", "update_volume", "upload_volume"],
      "watch_volumes",
    ]);
    const annotated = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(annotated).toMatchObject({
      get_volume: { readOnlyHint: true },
      create_volume: {},
      delete_volume: { destructiveHint: true },
    });
  });
});
