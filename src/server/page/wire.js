/** CreatePlant in gRPC-Web's binary frames, written and read by hand to show what each byte means. */

import { quoteText } from "./text.js";

/** A request that the browser cannot encode. */
export class FieldError extends Error {
  constructor(field, message) {
    super(`${field} ${message}`);
    this.field = field;
  }
}

const int64 = /^-?[0-9]+$/;

/** @param numbers Those of the fields, by message. @returns parts `{ bytes, means }` that make up the body. */
export function encodeRequest({ id, ...texts }, numbers) {
  const fields = [];
  if (id !== "") {
    const value = int64.test(id) ? BigInt(id) : undefined;
    if (value === undefined || BigInt.asIntN(64, value) !== value) {
      throw new FieldError("id", "must be a 64-bit integer");
    }
    const bytes = [numbers.NewPlant.id << 3, ...varint(BigInt.asUintN(64, value))];
    fields.push({ bytes, means: `NewPlant.id = ${value}` });
  }
  for (const [field, text] of Object.entries(texts)) {
    if (field !== "name" && text === "") continue;
    fields.push(textField(numbers.NewPlant[field], { field, text }));
  }
  const plantLength = lengthOf(fields);
  const outer = [0x0a, ...varint(BigInt(plantLength))];
  return [
    ...frameHead(0, outer.length + plantLength),
    { bytes: outer, means: `CreatePlantRequest.plant, ${plantLength} bytes` },
    ...fields,
  ];
}

/** Field numbers below 16 fit in one byte: the number, then 2 for "length and bytes". */
function textField(number, { field, text }) {
  // UTF-8 cannot carry a lone surrogate. The encoder would replace it.
  if (!text.isWellFormed()) throw new FieldError(field, "must not contain a lone surrogate");
  const utf8 = new TextEncoder().encode(text);
  const bytes = [(number << 3) | 2, ...varint(BigInt(utf8.length)), ...utf8];
  return { bytes, means: `NewPlant.${field} = ${quoteText(text)}` };
}

/** Seven bits a byte, the lowest first. */
function varint(value) {
  const bytes = [];
  let rest = value;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

const trailersFlag = 0x80;

function frameHead(flag, length) {
  const kind = flag === trailersFlag ? "trailers" : "a message";
  return [
    { bytes: [flag], means: `Frame: ${kind}, not compressed` },
    { bytes: [24, 16, 8, 0].map((shift) => (length >>> shift) & 255), means: `${length} bytes` },
  ];
}

function lengthOf(parts) {
  return parts.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

export function joinParts(parts) {
  return Uint8Array.from(parts.flatMap(({ bytes }) => [...bytes]));
}

/** @returns the body in parts, and its trailers. What is no frame of ours is one part. */
export function decodeResponse(body, numbers) {
  const texts = Object.entries(numbers.Plant).map(([name, number]) => [number, `Plant.${name}`]);
  const plant = { name: "CreatePlantResponse.plant", fields: Object.fromEntries(texts) };
  const parts = [];
  const trailers = new Headers();
  let at = 0;
  while (at + 5 <= body.length) {
    const length = new DataView(body.buffer, body.byteOffset + at).getUint32(1);
    const content = body.subarray(at + 5, at + 5 + length);
    const flag = body[at];
    if ((flag !== 0 && flag !== trailersFlag) || content.length < length) break;
    parts.push(...frameHead(flag, length));
    parts.push(
      ...(flag === 0 ? readFields(content, { 1: plant }) : readTrailers(content, trailers)),
    );
    at += 5 + length;
  }
  if (at < body.length) parts.push({ bytes: body.subarray(at), means: "Not a frame" });
  return { parts, trailers };
}

/** All fields of the response are texts or messages: one byte of head, a length, bytes. */
function readFields(bytes, fields) {
  const parts = [];
  let at = 0;
  while (at < bytes.length) {
    const known = fields[bytes[at] >> 3];
    const { length, end } = readLength(bytes, at + 1);
    if ((bytes[at] & 7) !== 2 || known === undefined || end + length > bytes.length) break;
    const content = bytes.subarray(end, end + length);
    if (typeof known === "string") {
      const text = quoteText(new TextDecoder().decode(content));
      parts.push({ bytes: bytes.subarray(at, end + length), means: `${known} = ${text}` });
    } else {
      parts.push({ bytes: bytes.subarray(at, end), means: `${known.name}, ${length} bytes` });
      parts.push(...readFields(content, known.fields));
    }
    at = end + length;
  }
  if (at < bytes.length) parts.push({ bytes: bytes.subarray(at), means: "A field unknown here" });
  return parts;
}

function readLength(bytes, start) {
  let length = 0;
  let at = start;
  for (let factor = 1; at < bytes.length; factor *= 128) {
    const byte = bytes[at++];
    length += (byte & 127) * factor;
    if (byte < 128) break;
  }
  return { length, end: at };
}

function readTrailers(bytes, trailers) {
  const lines = new TextDecoder().decode(bytes).match(/.+\r\n/g) ?? [];
  return lines.map((line) => {
    const colon = line.indexOf(":");
    trailers.append(line.slice(0, colon), line.slice(colon + 1).trim());
    return { bytes: new TextEncoder().encode(line), means: line.trim() };
  });
}

export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
