import { constants } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";

/** The codes of RFC 9113 section 7 that say why a stream ended, with their names in connect-es. */
const reasons: ReadonlyMap<number, readonly [name: string, code: Code]> = new Map([
  [constants.NGHTTP2_PROTOCOL_ERROR, ["PROTOCOL_ERROR", Code.Internal]],
  [constants.NGHTTP2_INTERNAL_ERROR, ["INTERNAL_ERROR", Code.Internal]],
  [constants.NGHTTP2_FLOW_CONTROL_ERROR, ["FLOW_CONTROL_ERROR", Code.Internal]],
  [constants.NGHTTP2_SETTINGS_TIMEOUT, ["SETTINGS_TIMEOUT", Code.Internal]],
  [constants.NGHTTP2_FRAME_SIZE_ERROR, ["FRAME_SIZE_ERROR", Code.Internal]],
  [constants.NGHTTP2_REFUSED_STREAM, ["REFUSED_STREAM", Code.Unavailable]],
  [constants.NGHTTP2_CANCEL, ["CANCEL", Code.Canceled]],
  [constants.NGHTTP2_COMPRESSION_ERROR, ["COMPRESSION_ERROR", Code.Internal]],
  [constants.NGHTTP2_CONNECT_ERROR, ["CONNECT_ERROR", Code.Internal]],
  [constants.NGHTTP2_ENHANCE_YOUR_CALM, ["ENHANCE_YOUR_CALM", Code.ResourceExhausted]],
  [constants.NGHTTP2_INADEQUATE_SECURITY, ["INADEQUATE_SECURITY", Code.PermissionDenied]],
  [constants.NGHTTP2_HTTP_1_1_REQUIRED, ["HTTP_1_1_REQUIRED", Code.PermissionDenied]],
]);

/** The error for a call whose stream was reset; undefined if the code gives no reason. */
export function resetReason(resetCode: number | undefined): ConnectError | undefined {
  const reason = reasons.get(resetCode ?? constants.NGHTTP2_NO_ERROR);
  if (reason === undefined) return undefined;
  const [name, code] = reason;
  const text = `http/2 stream closed with error code ${name} (0x${resetCode?.toString(16)})`;
  return new ConnectError(text, code);
}
