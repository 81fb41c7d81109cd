/** Tokens of every form but the valid one, each with a valid plant. */

import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import {
  fieldBlock,
  flag,
  frame,
  frameType,
} from "../../../../packages/gateway/test/support/raw-http2.ts";
import { createPlantPath, requestBinary, requestJson } from "../../../support/protocol/message.ts";
import { knownToken } from "../../../support/test-server.ts";
import type { Random } from "../../random.ts";
import type { BytesAttack } from "../attack.ts";
import { greet } from "./frames.ts";

export const strangerToken = "a-token-that-nobody-knows";

const jwtOfNobody = [
  { alg: "none", typ: "JWT" },
  { sub: "me", exp: 9999999999 },
]
  .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
  .join(".");

/** Values of Authorization. None of them is the token, though some contain it. */
const values: readonly string[] = [
  "",
  "Bearer",
  "Bearer ",
  knownToken,
  `Basic ${Buffer.from(`x:${knownToken}`).toString("base64")}`,
  `Basic ${knownToken}`,
  `Bearer${knownToken}`,
  `Bearer\t${knownToken}\t${knownToken}`,
  `Bearer ${knownToken}x`,
  `Bearer ${knownToken.slice(0, -1)}`,
  `Bearer ${knownToken.toUpperCase()}`,
  `Bearer ${knownToken} x`,
  `Bearer ${knownToken},`,
  `Bearer ${knownToken}, Bearer ${strangerToken}`,
  `Bearer ${strangerToken}, Bearer ${knownToken}`,
  `Bearer "${knownToken}"`,
  `Bearer token=${knownToken}`,
  `Bearer Bearer ${knownToken}`,
  `Bearer ${encodeURIComponent(`${knownToken}\0`)}`,
  `Bearer ${knownToken}=`,
  `Bearer ${Buffer.from(knownToken).toString("base64url")}`,
  `Bearer ${jwtOfNobody}.`,
  `Bearer ${jwtOfNobody}.AAAA`,
  "Bearer ..",
  `Bearer ${"a.".repeat(3000)}`,
  `Bearer ${"x".repeat(15_000)}`,
  "Bearer __proto__",
  "Bearer constructor",
  "Bearer undefined",
  "Bearer null",
  "Bearer \xff\xfe",
  "Bearer ' OR 1=1 --",
  `Token ${knownToken}`,
  `Digest username="x", response="${knownToken}"`,
];

/** Ways to send the token in the wrong place. */
const elsewhere: readonly ((path: string) => { readonly path: string; readonly fields: Fields })[] =
  [
    (path) => ({ path: `${path}?access_token=${knownToken}`, fields: [] }),
    (path) => ({ path, fields: [["cookie", `access_token=${knownToken}`]] }),
    (path) => ({ path, fields: [["x-authorization", `Bearer ${knownToken}`]] }),
    (path) => ({ path, fields: [["proxy-authorization", `Bearer ${knownToken}`]] }),
    (path) => ({ path, fields: [["authorization_", `Bearer ${knownToken}`]] }),
  ];

type Fields = readonly (readonly [name: string, value: string])[];

/** A plant in each protocol. */
const faces = [
  { path: "/plants", type: "application/json", body: (id: bigint) => plantJson(id), isGrpc: false },
  {
    path: createPlantPath,
    type: "application/json",
    body: (id: bigint) => Buffer.from(requestJson({ id, name: "no token" })),
    isGrpc: false,
  },
  {
    path: createPlantPath,
    type: "application/grpc-web+proto",
    body: (id: bigint) => envelope(requestBinary({ id, name: "no token" })),
    isGrpc: false,
  },
  {
    path: createPlantPath,
    type: "application/grpc",
    body: (id: bigint) => envelope(requestBinary({ id, name: "no token" })),
    isGrpc: true,
  },
] as const;

function plantJson(id: bigint): Buffer {
  return Buffer.from(`{"id":${id},"name":"no token"}`);
}

export function misuseToken(id: bigint, random: Random): BytesAttack {
  const face = random.pick(faces);
  const given = random.chance(0.15)
    ? random.pick(elsewhere)(face.path)
    : { path: face.path, fields: [["authorization", random.pick(values)]] as Fields };
  const fields: Fields = [["content-type", face.type], ...given.fields];
  const body = face.body(id);
  const isHttp2 = face.isGrpc || random.chance(0.4);
  const token = JSON.stringify(given.fields[0]?.slice(0, 60) ?? given.path);
  return {
    kind: "bytes",
    what: `the token ${token} for ${face.type}`,
    version: isHttp2 ? "2" : "1.1",
    bytes: isHttp2 ? overHttp2(given.path, fields, body) : overHttp1(given.path, fields, body),
  };
}

function overHttp1(path: string, fields: Fields, body: Buffer): Buffer {
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const length = `Content-Length: ${body.length}\r\n`;
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}${length}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

function overHttp2(path: string, fields: Fields, body: Buffer): Buffer {
  const block = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "a"],
    ["te", "trailers"],
    ...fields,
  ] as const;
  return greet(
    frame(frameType.headers, { flags: flag.endHeaders, streamId: 1, payload: fieldBlock(block) }),
    frame(frameType.data, { flags: flag.endStream, streamId: 1, payload: body }),
  );
}
