/** The schemas of tools: valid, and no looser than the server. */
import type { DescService } from "@bufbuild/protobuf";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageToJson } from "../../src/codec/json-messages.ts";
import { gatewayFetchHandler } from "../../src/index.ts";
import { createMcp, type McpOptions } from "../../src/mcp/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { LegacyService } from "../gen/openapi/legacy/v1/legacy_pb.ts";
import { ShopService } from "../gen/openapi/shop/v1/shop_pb.ts";
import { compiledProtos } from "../openapi/compiled.ts";
import { anyFieldJson, anyMessage } from "../support/arbitrary-message.ts";
import type { McpResult, McpTool } from "../support/mcp-client.ts";

const services: readonly DescService[] = [
  ...[CatalogService, LibraryService, FieldService, BookService, ShopService, LegacyService],
];

interface Offer {
  readonly tools: readonly McpTool[];
  call(name: string, args: unknown): Promise<McpResult>;
}

async function offer(service: DescService, own: Partial<McpOptions> = {}): Promise<Offer> {
  const handler = gatewayFetchHandler({
    routes(router) {
      if (service === FieldService) router.service(FieldService, { echo: (request) => request });
      else router.service(service, {});
    },
    mcp: createMcp({ tools: [service.typeName], ...own }),
  });
  const ask = async (method: string, params: object) => {
    const headers = { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const request = new Request("http://localhost/mcp", { method: "POST", headers, body });
    return (await (await handler(request)).json()).result;
  };
  const { tools } = await ask("tools/list", {});
  return { tools, call: (name, args) => ask("tools/call", { name, arguments: args }) };
}

/** One for all: the dialect itself takes longer to compile than a schema. */
const ajv = addFormats.default(new Ajv2020({ strict: true, strictTypes: true }));
const validatorOf = (schema: object): ValidateFunction => ajv.compile(schema);

const refused = /"(?:\$ref|\$defs|anyOf)":|"not":\{"(?!type)|"additionalProperties":(?!\{)/;

describe.each(["full", "plain"] as const)("%s schemas", (schemas) => {
  test.each(services.map((service) => [service.typeName, service] as const))(
    "of %s are valid, also for strict readers",
    async (_name, service) => {
      const { tools } = await offer(service, { schemas });
      expect(tools.length).toBeGreaterThan(0);
      // Without references and alternatives. Names are still names.
      if (schemas === "plain") expect(JSON.stringify(tools)).not.toMatch(refused);
      for (const { name, inputSchema, outputSchema } of tools) {
        expect(name).toMatch(/^[a-z0-9_]{1,64}$/);
        expect(inputSchema).toMatchObject({ type: "object" });
        validatorOf(inputSchema);
        // JSON has no zeros, and a server of another language may leave out more.
        const answer = { messages: [{}], truncated: false, value: "2000-01-01T00:00:00Z" };
        expect([name, validatorOf(outputSchema ?? {})(answer)]).toEqual([name, true]);
      }
    },
  );
});

test("where it contains itself, a message is any object in a plain schema", async () => {
  const { tools } = await offer(FieldService, { schemas: "plain" });
  const any = { properties: { child: { type: "object" } } };
  const echo = tools.find(({ name }) => name === "echo");
  expect(echo).toMatchObject({ inputSchema: { properties: { child: any } } });
  expect(echo).not.toHaveProperty("inputSchema.properties.child.properties.child.properties");
});

test("tools have the comments of the protos, and else their names", async () => {
  expect((await offer(CatalogService, { descriptors: compiledProtos() })).tools[0]).toMatchObject({
    ...{ name: "get_volume", title: "Get volume" },
    description: "GetVolume answers one volume, by its name or by its number.",
    inputSchema: { properties: { name: { description: "`shelves/SHELF/volumes/VOLUME`." } } },
  });
  const { tools } = await offer(CatalogService);
  expect(tools.find(({ name }) => name === "watch_volumes")?.description).toBe(
    "Watch volumes (library.v1.CatalogService)",
  );
  expect(tools.flatMap((one) => (one.outputSchema ? [] : one.name))).toEqual(["download_volume"]);
});

test("hints are those of the proto, unless an option says otherwise", async () => {
  const hints = {
    "library.v1.CatalogService/MoveVolume": { destructiveHint: false, openWorldHint: false },
    "library.v1.CatalogService/GetVolume": { readOnlyHint: false },
  };
  const { tools } = await offer(CatalogService, { hints });
  const annotated = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
  expect(annotated).toMatchObject({
    get_volume: { readOnlyHint: false },
    list_volumes: { readOnlyHint: true },
    move_volume: { destructiveHint: false, openWorldHint: false },
    delete_volume: { destructiveHint: true },
  });
});

test("the server takes what the schema does, and answers as the schemas say", async () => {
  const { tools, call } = await offer(FieldService);
  const allows = validatorOf(tools[0]?.inputSchema ?? {});
  const plain = await offer(FieldService, { schemas: "plain" });
  const allowsAsPlain = validatorOf(plain.tools[0]?.inputSchema ?? {});
  const answers = [tools, plain.tools].map(([echo]) => validatorOf(echo?.outputSchema ?? {}));
  let taken = 0;
  const property = fc.asyncProperty(anyArguments, async (json) => {
    if (!allows(json)) return;
    taken++;
    const { isError, structuredContent, content } = await call("echo", json);
    expect([json, isError ? content : undefined]).toEqual([json, undefined]);
    for (const answer of answers) expect([json, answer(structuredContent)]).toEqual([json, true]);
    // There, a number is only a number.
    const isPlain = allowsAsPlain(json) || /"(?:NaN|-?Infinity)"/.test(JSON.stringify(json));
    expect([json, isPlain]).toEqual([json, true]);
  });
  await fc.assert(property, { numRuns: 400 });
  expect(taken).toBeGreaterThan(20);
});

test("a message whose JSON is no object is the member `value`, which has no other beside it", async () => {
  const { tools, call } = await offer(BookService);
  const { inputSchema } = tools.find(({ name }) => name === "keep_value") ?? {};
  const allows = validatorOf(inputSchema ?? {});
  expect([{ value: 1 }, {}, { value: 1, other: 2 }].map((one) => allows(one))).toEqual([
    true,
    false,
    false,
  ]);
  const { isError, content } = await call("keep_value", { value: 1, other: 2 });
  expect(isError).toBe(true);
  expect(JSON.stringify(content)).toMatch(/other.*is not a known field/);
});

test("the schema takes every message as the server writes it", async () => {
  const { tools, call } = await offer(FieldService);
  const allows = validatorOf(tools[0]?.inputSchema ?? {});
  const property = fc.asyncProperty(anyMessage(EveryFieldSchema), async (message) => {
    const written = messageToJson(EveryFieldSchema, message, {});
    const json = JSON.parse(JSON.stringify(written));
    // Models write enums by name, and have no text for a number that is none.
    if (/"\w*[gG]enre\w*":(?:-?\d|[[{][^\]}]*\d)/.test(JSON.stringify(json))) return;
    const { structuredContent } = await call("echo", written);
    expect(structuredContent).toEqual(json);
    expect([json, allows(json), allows.errors]).toEqual([json, true, null]);
  });
  await fc.assert(property, { numRuns: 100 });
});

const anyArguments = fc.dictionary(
  fc.constantFrom(...EveryFieldSchema.fields.map(({ jsonName }) => jsonName), "nothing"),
  anyFieldJson,
  { maxKeys: 1 },
);
