import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

/** The query of a Connect GET: https://connectrpc.com/docs/protocol#unary-get-request */
export interface ConnectQuery {
  /** `v1`. */
  readonly version: string | null;
  readonly encoding: string | null;
  readonly compression: string | null;
  /** The bytes of the message, compressed or not. @throws {ConnectError} INVALID_ARGUMENT. */
  readonly readMessage: () => Uint8Array;
}

/** Parses the query of a URL. If a parameter is repeated, the first one counts. */
export function parseConnectQuery(url: string): ConnectQuery {
  const { search, searchParams: parameters } = new URL(url);
  return {
    version: parameters.get("connect"),
    encoding: parameters.get("encoding"),
    compression: parameters.get("compression"),
    readMessage: () =>
      parameters.get("base64") === "1"
        ? decodeBase64(parameters.get("message") ?? "")
        : rawParameter(search.slice(1), "message"),
  };
}

function decodeBase64(text: string): Uint8Array {
  try {
    return base64Decode(text);
  } catch (cause) {
    const message = "protocol error: the parameter message is not base64";
    throw new ConnectError(message, Code.InvalidArgument, undefined, undefined, cause);
  }
}

/** The bytes of a parameter. URLSearchParams would replace those that are not UTF-8. */
function rawParameter(query: string, name: string): Uint8Array {
  const part = query.split("&").find((one) => new URLSearchParams(`&${one}`).has(name)) ?? "";
  const equals = part.indexOf("=");
  const value = equals < 0 ? "" : part.slice(equals + 1).replaceAll("+", " ");
  const bytes = value.replace(/%([\dA-Fa-f]{2})/g, (_, hex) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)); // a URL contains only ASCII
}
