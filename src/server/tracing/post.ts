import { type Agent, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { version } from "../version.ts";

/** Where and how to send. */
export interface PostTarget {
  readonly url: string;
  readonly headers: () => Promise<Record<string, string>>;
  readonly compression: "gzip" | "none";
  readonly agentFactory: (protocol: string) => Agent | Promise<Agent>;
}

export interface PostAnswer {
  readonly status: number;
  /** As it came: seconds, or a date. */
  readonly retryAfter: string | undefined;
  readonly body: Uint8Array;
}

export interface Poster {
  /** @param signal Ends the request, in whatever state its connection is. */
  post(body: Uint8Array, signal: AbortSignal): Promise<PostAnswer>;
  /** Closes the connections. */
  close(): void;
}

/** More than a collector has to say; the rest is not read. */
const answerBytesMax = 64 * 1024;

const compress = promisify(gzip);

/** Posts to one place, over connections that are kept. */
export function createPoster({ url, headers, compression, agentFactory }: PostTarget): Poster {
  const target = new URL(url);
  const isZipped = compression === "gzip";
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  let agent: Agent | undefined;

  async function post(body: Uint8Array, signal: AbortSignal): Promise<PostAnswer> {
    agent ??= await agentFactory(target.protocol);
    const sent = isZipped ? await compress(body) : body;
    const header = {
      ...(await headers()),
      "User-Agent": `plant-store/${version}`,
      "Content-Length": sent.byteLength,
      ...(isZipped && { "Content-Encoding": "gzip" }),
    };
    const { promise, resolve, reject } = Promise.withResolvers<PostAnswer>();
    const request = send(target, { method: "POST", headers: header, agent, signal });
    request.on("error", reject);
    request.once("response", (response) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      response.on("data", (chunk: Uint8Array) => {
        bytes += chunk.byteLength;
        if (bytes > answerBytesMax) response.destroy(new Error("the answer is too long"));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.once("end", () => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, retryAfter: headers["retry-after"], body: Buffer.concat(chunks) });
      });
    });
    request.end(sent);
    return await promise;
  }

  return { post, close: () => agent?.destroy() };
}
