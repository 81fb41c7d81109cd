import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const started: KeyServer = { url: new URL(`http://127.0.0.1:${port}/keys`), hits: 0, answer };
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
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
