import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { AnswerCoding } from "../rest/response/answer-coding.ts";
import { compressionGzip } from "../rpc/gzip.ts";

/** As fast as gzip's default level, and as small. Brotli's own default takes forty times as long. */
const brotliParams = { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 };
const zstdParams = { [zlib.constants.ZSTD_c_compressionLevel]: 3 };

const brotli = promisify(zlib.brotliCompress);

/** In order of preference. Node has zstd since 22.15. */
export const nodeCodings: readonly AnswerCoding[] = [
  ...("zstdCompress" in zlib ? [zstdCoding()] : []),
  { name: "br", compress: (bytes) => brotli(bytes, { params: brotliParams }) },
  compressionGzip,
];

function zstdCoding(): AnswerCoding {
  const zstd = promisify(zlib.zstdCompress);
  return { name: "zstd", compress: (bytes) => zstd(bytes, { params: zstdParams }) };
}
