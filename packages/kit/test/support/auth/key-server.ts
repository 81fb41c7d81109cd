import { createServer, type RequestListener } from "node:http";
import { onTestFinished } from "vitest";
import { listen } from "../../../../gateway/test/support/free-port.ts";

export interface KeyServer {
  readonly url: URL;
  /** The number of requests so far. */
  hits: number;
  /** The answer from now on. */
  answer: RequestListener;
}

/** A key set server on a free port. Stopped with all its connections at the end of the test. */
export async function startKeyServer(answer: RequestListener): Promise<KeyServer> {
  const server = createServer((request, response) => {
    started.hits++;
    started.answer(request, response);
  });
  const { url, [Symbol.asyncDispose]: close } = await listen(server);
  const started: KeyServer = { url: new URL("/keys", url), hits: 0, answer };
  onTestFinished(async () => {
    server.closeAllConnections();
    await close();
  });
  return started;
}

export function keySetOf(...keys: readonly unknown[]): RequestListener {
  return text(JSON.stringify({ keys }));
}

export function text(body: string): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { "Content-Type": "application/json" }).end(body);
  };
}

export function status(code: number, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => {
    response.writeHead(code, headers).end();
  };
}

/** Accepts the request and never answers. */
export const silence: RequestListener = () => {};
