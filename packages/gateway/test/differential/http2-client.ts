/** One HTTP/2 session, and everything received on its streams. */
import http2 from "node:http2";
import { setImmediate } from "node:timers/promises";
import { within } from "../support/within.ts";
import type { Field, WireRequest } from "./case.ts";
import type { Client, WireResponse } from "./client.ts";

export function createHttp2Client(port: number): Client {
  let session: http2.ClientHttp2Session | undefined;

  async function send(request: WireRequest, called: Promise<unknown>): Promise<WireResponse> {
    if (session === undefined || session.closed || session.destroyed) {
      session = http2.connect(`http://127.0.0.1:${port}`);
      session.on("error", () => {});
    }
    const { method, path, headers, body, end = "whole" } = request;
    const head: http2.OutgoingHttpHeaders = { ":method": method, ":path": path };
    for (const [name, value] of headers) addField(head, name, value);
    const endStream = body.length === 0 && end === "whole";
    const stream = session.request(head, { endStream });
    const response = collect(stream);
    for (const chunk of body) {
      if (chunk !== body[0]) await setImmediate();
      stream.write(chunk);
    }
    if (!endStream && (end === "whole" || (typeof end === "object" && !end.unfinished))) {
      stream.end();
    }
    if (typeof end === "object") {
      await called;
      stream.close(end.code ?? http2.constants.NGHTTP2_CANCEL);
    }
    return await within("a response of HTTP/2, or the end", response);
  }

  return {
    send,
    async [Symbol.asyncDispose]() {
      session?.destroy();
    },
  };
}

function addField(head: http2.OutgoingHttpHeaders, name: string, value: string): void {
  const known = head[name];
  if (known === undefined) head[name] = value;
  else head[name] = [known, value].flat().map(String);
}

async function collect(stream: http2.ClientHttp2Stream): Promise<WireResponse> {
  let headers: Field[] = [];
  let trailers: Field[] = [];
  const chunks: Buffer[] = [];
  let isLeft = false;
  const closed = new Promise((resolve) => stream.once("close", resolve));
  stream.on("response", (_fields, _flags, raw?: string[]) => {
    headers = fieldsOf(raw);
    // A request that has been answered need not be sent to its end.
    stream.once("end", () => {
      isLeft = !stream.writableFinished;
      if (isLeft) stream.close(http2.constants.NGHTTP2_CANCEL);
    });
  });
  stream.on("trailers", (_fields, _flags, raw?: string[]) => {
    trailers = fieldsOf(raw);
  });
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => {});
  let isWhole = false;
  stream.on("end", () => {
    isWhole = !stream.aborted;
  });
  await closed;
  const body = Buffer.concat(chunks);
  const status = Number(headers.find(([name]) => name === ":status")?.[1] ?? 0);
  const length = headers.find(([name]) => name === "content-length")?.[1];
  const isRight = length === undefined || Number(length) === body.length;
  return {
    status,
    headers: headers.filter(([name]) => !name.startsWith(":")),
    body,
    trailers,
    framing: length === undefined ? "none" : "length",
    end:
      stream.rstCode !== 0 && !isLeft
        ? `reset ${stream.rstCode}`
        : endOf(isWhole && status > 0, isRight),
  };
}

function endOf(isWhole: boolean, isRight: boolean): string {
  if (!isWhole) return "cut";
  return isRight ? "whole" : "not as long as promised";
}

function fieldsOf(raw: readonly string[] = []): Field[] {
  const fields: Field[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) fields.push([raw[i] ?? "", raw[i + 1] ?? ""]);
  return fields;
}
