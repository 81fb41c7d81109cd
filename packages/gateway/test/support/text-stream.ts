/** A server stream of gRPC-Web-text, as browsers read it: whatever comes must decode at once. */
import http2 from "node:http2";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { envelope } from "./envelope.ts";
import type { HttpVersion } from "./http-exchange.ts";

const path = `/${FieldService.typeName}/Repeat`;
const headers = { "content-type": "application/grpc-web-text+proto", "x-grpc-web": "1" };
const body = envelope("").toString("base64");

/** Calls `Repeat` with an empty message. Yields each piece of the answer, decoded. */
export async function* callRepeat(origin: string, version: HttpVersion): AsyncGenerator<Buffer> {
  if (version === "1.1") {
    const response = await fetch(origin + path, { method: "POST", headers, body });
    for await (const piece of response.body ?? []) yield decode(Buffer.from(piece));
    return;
  }
  const session = http2.connect(origin);
  try {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    stream.end(body);
    for await (const piece of stream) yield decode(piece);
  } finally {
    session.destroy();
  }
}

/** @throws if a piece is no whole groups, each part with its own padding. */
function decode(piece: Buffer): Buffer {
  const text = piece.toString("latin1");
  if (text.length % 4 !== 0) throw new Error(`no whole groups: ${text}`);
  return Buffer.concat([...text.matchAll(/[^=]+=*/g)].map(([part]) => Buffer.from(part, "base64")));
}
