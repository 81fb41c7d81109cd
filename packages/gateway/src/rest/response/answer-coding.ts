/** Compression of answers: RFC 9110 section 12.5.3. */
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionGzip } from "../../rpc/gzip.ts";

/** A content coding for answers. */
export type AnswerCoding = Pick<Compression, "name" | "compress">;

export type AnswerCodingName = "zstd" | "br" | "gzip";

/**
 * As fast as gzip's default level, and as small. Brotli's own default takes forty times as long.
 */
const brotliParams = { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 };
const zstdParams = { [zlib.constants.ZSTD_c_compressionLevel]: 3 };

const brotli = promisify(zlib.brotliCompress);

/** In order of preference. Node has zstd since 22.15. */
const available: readonly AnswerCoding[] = [
  ...("zstdCompress" in zlib ? [zstdCoding()] : []),
  { name: "br", compress: (bytes) => brotli(bytes, { params: brotliParams }) },
  compressionGzip,
];

function zstdCoding(): AnswerCoding {
  const zstd = promisify(zlib.zstdCompress);
  return { name: "zstd", compress: (bytes) => zstd(bytes, { params: zstdParams }) };
}

/**
 * The codings of a route's answers, in order of preference.
 *
 * @param names The chosen codings. Default: all of ours, then the others that the router accepts;
 * none if the router accepts none.
 * @param accepted The codings that the router accepts.
 * @throws {TypeError} for a coding that this Node does not have.
 */
export function answerCodingsOf(
  names: readonly AnswerCodingName[] | undefined,
  accepted: readonly Compression[],
): readonly AnswerCoding[] {
  if (names === undefined) {
    const isOther = ({ name }: AnswerCoding) => available.every((one) => one.name !== name);
    return accepted.length === 0 ? [] : [...available, ...accepted.filter(isOther)];
  }
  return names.map((name) => {
    const found = available.find((one) => one.name === name);
    if (found === undefined) throw new TypeError(`rest.answerCodings: this Node has no "${name}"`);
    return found;
  });
}

/** The coding that the client prefers; the first of equals; undefined for none. */
export function chooseCoding(
  acceptEncoding: string | null,
  codings: readonly AnswerCoding[],
): AnswerCoding | undefined {
  if (acceptEncoding === null) return undefined;
  const qualities = new Map(acceptEncoding.split(",").map(parseCoding));
  let best: AnswerCoding | undefined;
  let least = qualities.get("identity") ?? 0;
  for (const coding of codings) {
    const quality = qualities.get(coding.name) ?? 0;
    const isBetter = best === undefined ? quality >= least : quality > least;
    if (quality === 0 || !isBetter) continue;
    best = coding;
    least = quality;
  }
  return best;
}

function parseCoding(part: string): [name: string, quality: number] {
  const [name = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  return [name, quality === undefined ? 1 : Number(quality) || 0];
}
