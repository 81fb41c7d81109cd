/** HTTP/1 by hand: any header, body or ending, and the complete answer. */
import { setImmediate } from "node:timers/promises";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import type { Field, WireRequest } from "./case.ts";
import type { Client, WireResponse } from "./client.ts";

export function createHttp1Client(port: number): Client {
  let idle: RawConnection | undefined;
  let isUsed = 0;

  async function send(request: WireRequest, called: Promise<unknown>): Promise<WireResponse> {
    const isOpen = idle !== undefined && !idle.socket.readableEnded && !idle.socket.destroyed;
    const connection = isOpen && idle !== undefined ? idle : await openRawConnection(port);
    connection.socket.setNoDelay(true);
    idle = undefined;
    const from = connection.received.length;
    const gone = await write(connection, request, called);
    if (gone) return goneResponse;
    const isHead = request.method === "HEAD";
    let response: ParsedResponse | undefined;
    const { socket } = connection;
    await connection.until("a whole response, or the end", (received) => {
      const isOver = socket.readableEnded || socket.destroyed;
      response = parseResponse(received.subarray(from), isHead, isOver);
      return response !== undefined || isOver;
    });
    if (response === undefined) {
      connection[Symbol.dispose]();
      return goneResponse;
    }
    // A rejection that leaves part of a body unread leaves the connection hanging.
    const { framing, body, end = "whole" } = request;
    const isSentAtOnce = framing !== "chunked" && body.length <= 1;
    const isSmall = body.every(({ byteLength }) => byteLength < 10_000);
    const isReusable = response.keepsOpen && isSmall && isSentAtOnce && end === "whole";
    // The connection keeps everything received, so it is cheaper to open a new one from time to
    // time.
    if (isReusable && request.http === "1.1" && ++isUsed % 20 !== 0) idle = connection;
    else connection[Symbol.dispose]();
    return response;
  }

  return {
    send,
    async [Symbol.asyncDispose]() {
      idle?.[Symbol.dispose]();
    },
  };
}

const goneResponse: WireResponse = {
  status: 0,
  headers: [],
  body: Buffer.alloc(0),
  trailers: [],
  framing: "none",
  end: "cut",
};

/** @returns whether the client has left. */
async function write(
  connection: RawConnection,
  { method, path, http, headers, body, framing = "length", end = "whole" }: WireRequest,
  called: Promise<unknown>,
): Promise<boolean> {
  const length = body.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  const framed: Field[] = [...headers];
  const declares = typeof end === "object" && end.unfinished ? length + 1 : length;
  if (framing === "length") framed.push(["Content-Length", String(declares)]);
  if (framing === "chunked") framed.push(["Transfer-Encoding", "chunked"]);
  const lines = framed.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = Buffer.from(`${method} ${path} HTTP/${http}\r\n${lines}\r\n`, "latin1");
  if (framing !== "length" || body.length !== 1) connection.write(head);
  for (const chunk of body) {
    if (chunk !== body[0]) await setImmediate();
    if (framing === "chunked" && chunk.byteLength > 0) {
      connection.write(Buffer.concat([hexLine(chunk), chunk, Buffer.from("\r\n")]));
    } else {
      const isFirst = framing === "length" && body.length === 1;
      connection.write(isFirst ? Buffer.concat([head, chunk]) : chunk);
    }
  }
  if (framing === "chunked" && end === "whole") connection.write("0\r\n\r\n");
  if (typeof end !== "object") return false;
  if (framing === "chunked" && !end.unfinished) connection.write("0\r\n\r\n");
  await called;
  if (end.leave === "reset") connection.socket.resetAndDestroy();
  else connection[Symbol.dispose]();
  return true;
}

function hexLine(chunk: Uint8Array): Buffer {
  return Buffer.from(`${chunk.byteLength.toString(16)}\r\n`);
}

interface ParsedResponse extends WireResponse {
  readonly keepsOpen: boolean;
}

/** Undefined while it is incomplete. */
function parseResponse(
  bytes: Buffer,
  isHead: boolean,
  isOver: boolean,
): ParsedResponse | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  if (status === 100) return parseResponse(bytes.subarray(headEnd + 4), isHead, isOver);
  const headers = lines.map(parseField);
  const fieldOf = (name: string) => headers.find(([key]) => key === name)?.[1];
  const rest = bytes.subarray(headEnd + 4);
  const keepsOpen = fieldOf("connection")?.toLowerCase() !== "close";
  const head = { status, headers, keepsOpen, end: "whole" } as const;
  const empty = { body: Buffer.alloc(0), trailers: [] };
  if (isHead || status === 204 || status === 304) {
    const framing = fieldOf("content-length") === undefined ? "none" : "length";
    return { ...head, ...empty, framing };
  }
  if (fieldOf("transfer-encoding") === "chunked") {
    const chunked = parseChunks(rest);
    if (chunked !== undefined) return { ...head, ...chunked, framing: "chunked" };
    return isOver ? { ...head, ...empty, body: rest, framing: "chunked", end: "cut" } : undefined;
  }
  const length = fieldOf("content-length");
  if (length !== undefined) {
    if (rest.length > Number(length)) {
      return { ...head, ...empty, body: rest, framing: "length", end: "more than promised" };
    }
    if (rest.length === Number(length)) return { ...head, ...empty, body: rest, framing: "length" };
    return isOver ? { ...head, ...empty, body: rest, framing: "length", end: "cut" } : undefined;
  }
  return isOver ? { ...head, ...empty, body: rest, framing: "close" } : undefined;
}

function parseChunks(bytes: Buffer): { body: Buffer; trailers: Field[] } | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const start = lineEnd + 2;
    if (size === 0) {
      const isEmpty = bytes.toString("latin1", start, start + 2) === "\r\n";
      const end = isEmpty ? start : bytes.indexOf("\r\n\r\n", start);
      if (end === -1) return undefined;
      const text = bytes.toString("latin1", start, end);
      const trailers = text === "" ? [] : text.split("\r\n").map(parseField);
      return { body: Buffer.concat(chunks), trailers };
    }
    if (bytes.length < start + size + 2) return undefined;
    chunks.push(bytes.subarray(start, start + size));
    at = start + size + 2;
  }
}

/** Names in lower case: HTTP/1 names are case-insensitive. */
function parseField(line: string): Field {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
