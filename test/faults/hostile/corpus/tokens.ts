/** Tokens of every form but the valid one, each with a valid plant. */
import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import { fieldBlock, flag } from "../../../../packages/gateway/test/support/raw-http2.ts";
import { forge } from "../../../../packages/proxy/test/support/auth/issuer.ts";
import {
  createPlantPath,
  newPlantJson,
  requestBinary,
  requestJson,
} from "../../../support/protocol/message.ts";
import type { PlantInput } from "../../../support/protocol/protocol.ts";
import { knownToken } from "../../../support/test-server.ts";
import type { Random } from "../../random.ts";
import type { BytesAttack } from "../attack.ts";
import { data, greet, headers, strangerToken } from "../wire.ts";

const jwtOfNobody = forge({ alg: "none", typ: "JWT" }, { sub: "me", exp: 9999999999 }, "");

/** Values of Authorization. None of them is the token, though some contain it. */
const values: readonly string[] = [
  ...["", "Bearer", "Bearer ", knownToken, `Token ${knownToken}`, `Bearer${knownToken}`],
  `Basic ${Buffer.from(`x:${knownToken}`).toString("base64")}`,
  `Basic ${knownToken}`,
  `Digest username="x", response="${knownToken}"`,
  `Bearer\t${knownToken}\t${knownToken}`,
  ...[
    ...[`${knownToken}x`, knownToken.slice(0, -1), knownToken.toUpperCase(), `${knownToken} x`],
    ...[`${knownToken},`, `"${knownToken}"`, `token=${knownToken}`, `Bearer ${knownToken}`],
    ...[`${knownToken}=`, encodeURIComponent(`${knownToken}\0`)],
    `${knownToken}, Bearer ${strangerToken}`,
    `${strangerToken}, Bearer ${knownToken}`,
    Buffer.from(knownToken).toString("base64url"),
    ...[jwtOfNobody, `${jwtOfNobody}AAAA`, "..", "a.".repeat(3000), "x".repeat(15_000)],
    ...["__proto__", "constructor", "undefined", "null", "\xff\xfe", "' OR 1=1 --"],
  ].map((value) => `Bearer ${value}`),
];

type Field = readonly [name: string, value: string];

/** The token in a wrong place: the query, or another header. */
const elsewhere: readonly (readonly [query: string, ...fields: Field[]])[] = [
  [`?access_token=${knownToken}`],
  ["", ["cookie", `access_token=${knownToken}`]],
  ["", ["x-authorization", `Bearer ${knownToken}`]],
  ["", ["proxy-authorization", `Bearer ${knownToken}`]],
  ["", ["authorization_", `Bearer ${knownToken}`]],
];

type Face = readonly [path: string, type: string, body: (plant: PlantInput) => string | Buffer];
const enveloped = (plant: PlantInput) => envelope(requestBinary(plant));
const faces: readonly Face[] = [
  ["/plants", "application/json", newPlantJson],
  [createPlantPath, "application/json", requestJson],
  [createPlantPath, "application/grpc-web+proto", enveloped],
  [createPlantPath, "application/grpc", enveloped],
];

export function misuseToken(id: bigint, random: Random): BytesAttack {
  const [path, type, bodyOf] = random.pick(faces);
  const authorization: Field = ["authorization", random.pick(values)];
  const [query, ...given] = random.chance(0.15)
    ? random.pick(elsewhere)
    : (["", authorization] as const);
  const fields: readonly Field[] = [["content-type", type], ...given];
  const target = path + query;
  const body = Buffer.from(bodyOf({ id, name: "no token" }) as string);
  const isHttp2 = type === "application/grpc" || random.chance(0.4);
  const shown = JSON.stringify(given[0]?.join(": ").slice(0, 80) ?? query);
  return {
    what: `the token ${shown} for ${type}`,
    version: isHttp2 ? "2" : "1.1",
    bytes: isHttp2 ? overHttp2(target, fields, body) : overHttp1(target, fields, body),
  };
}

function overHttp1(path: string, fields: readonly Field[], body: Buffer): Buffer {
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const length = `Content-Length: ${body.length}\r\n`;
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}${length}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

function overHttp2(path: string, fields: readonly Field[], body: Buffer): Buffer {
  const block: readonly Field[] = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "a"],
    ["te", "trailers"],
    ...fields,
  ];
  return greet(headers(1, fieldBlock(block)), data(1, body, flag.endStream));
}
