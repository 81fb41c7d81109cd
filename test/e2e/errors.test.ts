/** One error, one text: over every protocol, and in the access log. */
import { gzipSync } from "node:zlib";
import type { AccessEntry } from "connect-gateway/logging";
import { beforeAll, expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/exchange.ts";
import { spawnServer } from "../support/child-server.ts";
import { type PlantInput, refusalOf } from "../support/protocol/protocol.ts";
import { type RawProtocol, rawProtocols, restOverHttp1 } from "../support/protocol/raw.ts";
import { knownToken } from "../support/test-server.ts";
import { useOpened } from "../support/use-test-server.ts";

type Kind = "REST" | "Connect JSON" | "Connect binary" | "gRPC" | "gRPC-Web";

interface Row {
  readonly told: string;
  /** In the log, if it is not the same. */
  readonly logged?: string;
  /** The protocols that can send it. Default: all. */
  readonly only?: readonly Kind[];
  readonly plant?: PlantInput;
  /** Instead of a plant. */
  readonly message?: string;
  /** The members of a plant in JSON, instead of one. */
  readonly members?: string;
  readonly path?: string;
  readonly authorization?: string | null;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The compression that the headers name. */
  readonly encoding?: string;
  readonly timeoutMs?: number;
}

const bodyBytesMax = 1000;
const plant = { id: 1n, name: "Basil" };
const large = { id: 2n, name: "x".repeat(2 * bodyBytesMax) };
const tooLarge = `a message must not be larger than ${bodyBytesMax} bytes`;

const json: readonly Kind[] = ["REST", "Connect JSON"];

const bearer = `Bearer ${knownToken}`;
const noToken = "a bearer token is required: send the header Authorization: Bearer <token>";
const unknown = "the bearer token is unknown or revoked, or signed with an unknown key";
const taken = "another plant has this id (choose another id or repeat its name and tag)";

const rows: readonly Row[] = [
  { told: noToken, authorization: null },
  {
    ...{ told: noToken, authorization: null, query: `?access_token=${knownToken}` },
    headers: {
      ...{ cookie: `authorization=${bearer}; access_token=${knownToken}`, "x-api-key": knownToken },
      ...{ "proxy-authorization": bearer, "x-authorization": bearer },
    },
  },
  { told: unknown, authorization: " Bearer nobody-knows-this " },
  { told: "id is required; name is required", plant: {} },
  { told: taken, plant: { ...plant, name: "Mint" } },
  { told: tooLarge, plant: large, encoding: "gzip" },
  {
    told: 'unknown compression "br": supported encodings are gzip',
    logged: "unknown compression …",
    encoding: "br",
  },
  { told: "the operation timed out", timeoutMs: 0 },
  { told: "nothing is served at this path", only: ["REST", "gRPC", "gRPC-Web"], path: "/nothing" },
  { told: "id must be a 64-bit integer", only: json, members: '"id":"secret","name":"Basil"' },
  {
    told: "the request is not valid JSON: Expected ',' or '}' after property value in JSON at position 17 (line 1 column 18)",
    logged: "the request is not valid JSON: Expected …",
    only: ["REST"],
    message: '{"name":"secret" ',
  },
  {
    told: 'the request has "secret" twice in one JSON object',
    logged: "the request has …",
    only: json,
    message: '{"secret":1,"secret":2}',
  },
  {
    told: "secret is not a known field",
    logged: "a field is not a known field",
    only: ["REST"],
    members: '"id":1,"name":"Basil","secret":1',
  },
];

function kindOf({ name }: RawProtocol): Kind {
  return name.replace(/ over .*/, "") as Kind;
}

const args = ["--access-log", "errors", "--body-bytes-max", `${bodyBytesMax}`];
const server = useOpened(() => spawnServer({ args }));
beforeAll(() => restOverHttp1.send(server.url, restOverHttp1.encode(plant)));

function requestOf(protocol: RawProtocol, row: Row) {
  const { members, encoding, authorization, timeoutMs } = row;
  const isRest = kindOf(protocol) === "REST";
  const inJson = members && (isRest ? `{${members}}` : `{"plant":{${members}}}`);
  const message = Buffer.from(row.message ?? inJson ?? protocol.encode(row.plant ?? plant));
  const packed = encoding === "gzip" ? gzipSync(message) : message;
  return protocol.request(packed, { authorization, timeoutMs, coding: encoding });
}

/** @returns what the client is told, and what the log is. */
async function send(protocol: RawProtocol, row: Row) {
  const requestId = `${rows.indexOf(row)}:${protocol.name.replaceAll(" ", "-")}`;
  const request = requestOf(protocol, row);
  const response = await exchange({
    ...{ ...request, origin: server.url, path: (row.path ?? protocol.path) + (row.query ?? "") },
    headers: { ...request.headers, ...row.headers, "x-request-id": requestId },
  });
  const [line = "{}"] = await server.stderr.until(
    new RegExp(`^.*"requestId":"${requestId}".*$`, "m"),
  );
  const { reason }: AccessEntry = JSON.parse(line);
  return { told: refusalOf(protocol.read(response)).message, logged: reason };
}

test.each(rows)("every protocol and the log say the same: $told", async (row) => {
  const { told, logged = told, only } = row;
  const able = rawProtocols.filter((one) => only === undefined || only.includes(kindOf(one)));
  const said = await Promise.all(able.map(async (one) => [one.name, await send(one, row)]));
  expect(Object.fromEntries(said)).toEqual(
    Object.fromEntries(able.map(({ name }) => [name, { told, logged }])),
  );
});

test("neither what the rows sent nor a success is in the log", () => {
  expect(server.stderr.text).not.toMatch(/secret|xxx|"code":"OK"/);
});
