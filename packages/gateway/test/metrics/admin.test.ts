/** What a scraper that asks without end may cost. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { openAdmin } from "../../src/metrics/admin.ts";
import { openRawConnection } from "../support/raw-connection.ts";

const ask = "GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n";

test("scrapes at the same time share one text, and the next has its own", async () => {
  let renders = 0;
  const render = async () => {
    const text = `rendered ${++renders}\n`;
    await nextTurn();
    return text;
  };
  const source = { contentType: "a/b", render, isReady: () => true };
  const listener = await openAdmin({ host: "127.0.0.1", port: 0 }, source);
  try {
    using scraper = await openRawConnection(listener.address.port);
    const answered = (text: string, count: number) => (received: Buffer) =>
      received.toString().split(text).length === count + 1;
    scraper.write(ask.repeat(50));
    await scraper.until("50 answers", answered("rendered 1\n", 50));
    scraper.write(ask);
    await scraper.until("one more", answered("rendered 2\n", 1));
    expect(renders).toBe(2);
  } finally {
    await listener.close();
  }
});

test("probes learn whether the service is ready", async () => {
  let isReady = false;
  const source = { contentType: "a/b", render: async () => "", isReady: () => isReady };
  const listener = await openAdmin({ host: "127.0.0.1", port: 0 }, source);
  try {
    const origin = `http://127.0.0.1:${listener.address.port}`;
    const statusOf = async (path: string) => (await fetch(`${origin}${path}`)).status;
    expect(await statusOf("/healthz")).toBe(200);
    expect(await statusOf("/readyz")).toBe(503);
    isReady = true;
    expect(await statusOf("/readyz")).toBe(200);
    expect(await statusOf("/")).toBe(404);
  } finally {
    await listener.close();
  }
});
