/** An HTTP/1.1 response, as received. */
export interface Http1Response {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Parses the responses at the beginning of what a server has sent. Supports `Content-Length` and
 * `Transfer-Encoding: chunked`. Skips what is incomplete.
 */
export function parseHttp1Responses(received: Buffer): Http1Response[] {
  const responses: Http1Response[] = [];
  let rest = received;
  for (;;) {
    const parsed = parseOne(rest);
    if (parsed === undefined) return responses;
    responses.push(parsed.response);
    rest = rest.subarray(parsed.length);
  }
}

function parseOne(bytes: Buffer): { response: Http1Response; length: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not a status line: ${statusLine}`);
  const headers = new Map(lines.map(parseField));
  const start = headEnd + 4;
  if (status < 200) return { response: { status, headers, body: "" }, length: start };
  const body = parseBody(bytes.subarray(start), headers);
  if (body === undefined) return undefined;
  return { response: { status, headers, body: body.text }, length: start + body.length };
}

function parseField(line: string): [name: string, value: string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

function parseBody(bytes: Buffer, headers: ReadonlyMap<string, string>) {
  if (headers.get("transfer-encoding") === "chunked") return parseChunks(bytes);
  const length = Number(headers.get("content-length") ?? 0);
  if (bytes.length < length) return undefined;
  return { text: bytes.toString("utf8", 0, length), length };
}

function parseChunks(bytes: Buffer): { text: string; length: number } | undefined {
  let text = "";
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (bytes.length < end) return undefined;
    if (size === 0) return { text, length: end };
    text += bytes.toString("utf8", lineEnd + 2, end - 2);
    at = end;
  }
}
