/** What a client that takes nothing of a page may hold. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createPageHandlers } from "../../src/server/page/handlers.ts";

test("a large file is never written as a whole", async () => {
  const handlers = createPageHandlers({
    basePath: "",
    version: "1.0.0",
    tokenCommand: "",
    onError: () => {},
  });
  const path = "/page/swagger-ui.js";
  const written: number[] = [];
  await using server = createServer((request, response) => {
    for (const method of ["write", "end"] as const) {
      const original = response[method] as (...given: unknown[]) => unknown;
      const noted = (...given: unknown[]) => {
        if (given[0] instanceof Uint8Array) written.push(given[0].length);
        return original.apply(response, given);
      };
      Object.assign(response, { [method]: noted });
    }
    handlers.get(path)?.(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { connection: "close" },
  });
  const body = await answer.bytes();
  expect(body.length).toBeGreaterThan(1024 * 1024);
  expect(body.length).toBe(Number(answer.headers.get("content-length")));
  expect(written.reduce((sum, length) => sum + length, 0)).toBe(body.length);
  expect(Math.max(...written)).toBeLessThanOrEqual(64 * 1024);
});
