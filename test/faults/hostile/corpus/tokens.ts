/** Tokens of every form but the valid one, each with a valid plant. */
import { flag } from "../../../../packages/gateway/test/support/raw-http2.ts";
import { forge } from "../../../../packages/kit/test/support/auth/issuer.ts";
import { rawProtocols } from "../../../support/protocol/raw.ts";
import { knownToken } from "../../../support/test-server.ts";
import type { Random } from "../../random.ts";
import type { BytesAttack } from "../attack.ts";
import { blockOf, data, greet, headers, strangerToken } from "../wire.ts";

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

/** The token in a wrong place: the query, or another header. */
const elsewhere: readonly { readonly query?: string; readonly [name: string]: string }[] = [
  { query: `?access_token=${knownToken}` },
  { cookie: `access_token=${knownToken}` },
  { "x-authorization": `Bearer ${knownToken}` },
  { "proxy-authorization": `Bearer ${knownToken}` },
  { authorization_: `Bearer ${knownToken}` },
];

export function misuseToken(id: bigint, random: Random): BytesAttack {
  const { encode, request } = random.pick(rawProtocols);
  const plant = encode({ id, name: "no token" });
  const { version, path, headers, body } = request(plant, { authorization: null });
  const { query = "", ...given } = random.chance(0.15)
    ? random.pick(elsewhere)
    : { authorization: random.pick(values) };
  const [shown] = Object.entries(given).map((field) => field.join(": ").slice(0, 80));
  const overHttp = version === "2" ? overHttp2 : overHttp1;
  return {
    what: `the token ${JSON.stringify(shown ?? query)} for ${headers["content-type"]}`,
    version,
    bytes: overHttp(path + query, { ...headers, ...given }, body),
  };
}

type Fields = Readonly<Record<string, string>>;

function overHttp1(path: string, fields: Fields, body: Buffer): Buffer {
  const all = { Host: "a", Connection: "close", ...fields, "Content-Length": body.length };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

function overHttp2(path: string, fields: Fields, body: Buffer): Buffer {
  const block = blockOf({ ":path": path, authorization: null, te: "trailers", ...fields });
  return greet(headers(1, block), data(1, body, flag.endStream));
}
