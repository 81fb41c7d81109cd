/** One error, one text: over every protocol, and in the access log. */
import { gzipSync } from "node:zlib";
import type { AccessEntry } from "connect-gateway/logging";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { type ChildServer, spawnServer } from "../support/child-server.ts";
import { type PlantInput, refusalOf } from "../support/protocol/protocol.ts";
import { type RawProtocol, rawProtocols } from "../support/protocol/raw.ts";
import { knownToken } from "../support/test-server.ts";

type Kind = "REST" | "Connect JSON" | "Connect binary" | "gRPC" | "gRPC-Web";

interface Sent {
  readonly plant?: PlantInput;
  /** Instead of a plant. */
  readonly message?: string | Uint8Array;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The compression that the headers name. */
  readonly encoding?: string;
  readonly timeout?: string;
}

interface Row {
  readonly what: string;
  readonly message: string;
  /** In the log, if it is not the message. */
  readonly reason?: string;
  /** The protocols that can send it. Default: all. */
  readonly only?: readonly Kind[];
  readonly sent: Sent | ((kind: Kind) => Sent);
}

const bodyBytesMax = 1000;
const plant = { id: 1n, name: "Basil" };
const large = { id: 2n, name: "x".repeat(2 * bodyBytesMax) };
const hello = [0x22, 0xff, 0x22];

/** Headers of a call that announce a compression. */
function compressionOf(kind: Kind, name: string): Record<string, string> {
  return { [kind.startsWith("gRPC") ? "grpc-encoding" : "content-encoding"]: name };
}

const json: readonly Kind[] = ["REST", "Connect JSON"];
const binary: readonly Kind[] = ["Connect binary", "gRPC", "gRPC-Web"];
const inPlant = (kind: Kind, members: string) =>
  kind === "REST" ? `{${members}}` : `{"plant":{${members}}}`;

const rows: readonly Row[] = [
  {
    what: "no token",
    message: "a bearer token is required: send the header Authorization: Bearer <token>",
    sent: { headers: { authorization: "" } },
  },
  {
    what: "a token in another form",
    message: "the bearer token is malformed",
    sent: { headers: { authorization: "Bearer two tokens" } },
  },
  {
    what: "an unknown token",
    message: "the bearer token is unknown or revoked, or signed with an unknown key",
    sent: { headers: { authorization: "Bearer nobody-knows-this" } },
  },
  { what: "no id", message: "id is required", sent: { plant: { name: "Basil" } } },
  { what: "no fields", message: "id is required; name is required", sent: { plant: {} } },
  {
    what: "U+0000",
    message: "name must not contain U+0000",
    sent: { plant: { id: 1n, name: "a\0" } },
  },
  {
    what: "a taken id",
    message: "another plant has this id (choose another id or repeat its name and tag)",
    sent: { plant: { ...plant, name: "Mint" } },
  },
  {
    what: "a message over the limit",
    message: `a message must not be larger than ${bodyBytesMax} bytes`,
    sent: { plant: large },
  },
  {
    what: "a message that is over the limit without its compression",
    message: `a message must not be larger than ${bodyBytesMax} bytes`,
    sent: { plant: large, encoding: "gzip" },
  },
  {
    what: "gzip that is none",
    message: "decompression failed",
    sent: { message: "no gzip", encoding: "broken gzip" },
  },
  {
    what: "an unknown compression",
    message: 'unknown compression "br": supported encodings are gzip',
    reason: "unknown compression …",
    sent: { encoding: "br" },
  },
  {
    what: "a deadline",
    message: "the operation timed out",
    sent: (kind) => ({
      headers: kind.startsWith("gRPC") ? { "grpc-timeout": "1n" } : { "connect-timeout-ms": "0" },
    }),
  },
  {
    what: "a path at which nothing is served",
    message: "nothing is served at this path",
    only: ["REST", "gRPC", "gRPC-Web"],
    sent: { path: "/nothing" },
  },
  {
    what: "text for an id",
    message: "id must be a 64-bit integer",
    only: json,
    sent: (kind) => ({ message: inPlant(kind, '"id":"secret","name":"Basil"') }),
  },
  {
    what: "an id out of range",
    message: "id must be a 64-bit integer, from -9223372036854775808 to 9223372036854775807",
    only: json,
    sent: (kind) => ({ message: inPlant(kind, `"id":${"9".repeat(26)},"name":"Basil"`) }),
  },
  {
    what: "a lone surrogate",
    message: "name must not contain a lone surrogate",
    only: json,
    sent: (kind) => ({ message: inPlant(kind, '"id":1,"name":"\\ud800"') }),
  },
  {
    what: "JSON that is not UTF-8",
    message: "the request is not valid UTF-8",
    only: json,
    sent: { message: Uint8Array.from(hello) },
  },
  {
    what: "JSON that is cut",
    message:
      "the request is not valid JSON: Expected ',' or '}' after property value in JSON at position 17 (line 1 column 18)",
    reason: "the request is not valid JSON: Expected …",
    only: ["REST"],
    sent: { message: '{"name":"secret" ' },
  },
  {
    what: "a member twice",
    message: 'the request has "secret" twice in one JSON object',
    reason: "the request has …",
    only: json,
    sent: { message: '{"secret":1,"secret":2}' },
  },
  {
    what: "an unknown field",
    message: "secret is not a known field",
    reason: "a field is not a known field",
    only: ["REST"],
    sent: { message: '{"id":1,"name":"Basil","secret":1}' },
  },
  {
    what: "text that is not UTF-8 in binary",
    message: "parse binary: The encoded data was not valid for encoding utf-8",
    only: binary,
    sent: { message: Uint8Array.from([0x0a, 0x05, 0x08, 0x01, 0x12, 0x01, 0xff]) },
  },
];

function kindOf({ name }: RawProtocol): Kind {
  return name.replace(/ over .*/, "") as Kind;
}

let server: ChildServer;
let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;

beforeAll(async () => {
  folder = await createTemporaryFolder();
  const args = ["--access-log", "errors", "--body-bytes-max", `${bodyBytesMax}`];
  server = await spawnServer({ cwd: folder.path, args });
  const [first] = rawProtocols;
  await first?.send(server.url, first.encode(plant));
}, 60_000);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** @returns what the client is told, and what the log is. */
async function send(protocol: RawProtocol, row: Row, requestId: string) {
  const kind = kindOf(protocol);
  const sent = typeof row.sent === "function" ? row.sent(kind) : row.sent;
  const { plant: asked = plant, encoding } = sent;
  const message = Buffer.from(sent.message ?? protocol.encode(asked));
  const packed = encoding === "gzip" ? gzipSync(message) : message;
  const body = Buffer.from(protocol.frame(packed));
  if (encoding !== undefined && kind.startsWith("gRPC")) body[0] = 1;
  const { authorization = `Bearer ${knownToken}`, ...headers } = sent.headers ?? {};
  const response = await exchange({
    origin: server.url,
    version: protocol.version,
    path: sent.path ?? protocol.path,
    headers: {
      "content-type": protocol.contentType,
      "x-request-id": requestId,
      ...(authorization !== "" && { authorization }),
      ...(encoding !== undefined && compressionOf(kind, encoding.replace("broken ", ""))),
      ...headers,
    },
    body,
  });
  const [line = "{}"] = await server.stderr.until(
    new RegExp(`^.*"requestId":"${requestId}".*$`, "m"),
  );
  const { reason }: AccessEntry = JSON.parse(line);
  return { message: refusalOf(protocol.read(response)).message, reason };
}

describe.each(rows)("$what:", (row) => {
  const able = rawProtocols.filter((one) => (row.only ?? [kindOf(one)]).includes(kindOf(one)));

  test("every protocol and the log say the same", async () => {
    const told = await Promise.all(
      able.map(async (one) => [
        one.name,
        await send(one, row, `${rows.indexOf(row)}:${one.name.replaceAll(" ", "-")}`),
      ]),
    );
    const { message, reason = message } = row;
    expect(Object.fromEntries(told)).toEqual(
      Object.fromEntries(able.map(({ name }) => [name, { message, reason }])),
    );
  });
});

test("what the rows sent is not in the log", () => {
  expect(server.stderr.text).not.toMatch(/secret|xxx/);
});
