/** An upstream that is killed and started again under load. `PROXY_RESTARTS=100` does so a hundred times. */
import { setTimeout } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { nodeOfSources, startServer } from "../../../gateway/test/runtimes/server-process.ts";
import { send } from "../../../gateway/test/support/catalog.ts";
import { jsonOf } from "../../../gateway/test/support/gateway.ts";
import { openProxy } from "./open-proxy.ts";

const restarts = Number(process.env["PROXY_RESTARTS"] ?? 3);

/** As many call at the same time. */
const callers = 4;

/** As many go well between two restarts. */
const callsBetween = 50;

const startUpstream = (port = 0) =>
  startServer([...nodeOfSources, `${import.meta.dirname}/upstream-process.ts`, `${port}`], ".");

test(
  `killed ${restarts} times, each answer is right, each error clear, and all goes on`,
  async ({ annotate }) => {
    let upstream = await startUpstream();
    const { port } = upstream;
    await using proxy = await openProxy({ url: `http://127.0.0.1:${port}` });
    let isOver = false;
    let id = 0;
    let successes = 0;
    let failures = 0;
    let slowestMs = 0;

    async function create(): Promise<boolean> {
      const volume = { id: `${++id}`, title: `volume ${id}` };
      const answer = await proxy.send(send("POST", "/v1/shelves/a/volumes", volume));
      if (answer.status === 200) {
        expect(jsonOf(answer)).toEqual({ name: `shelves/a/volumes/${volume.id}`, ...volume });
        successes++;
        return true;
      }
      failures++;
      expect(jsonOf(answer)).toEqual({
        code: Code.Unavailable,
        message: "the upstream is away",
        details: [],
      });
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("1");
      return false;
    }
    async function call(): Promise<void> {
      while (!isOver) {
        if (!(await create())) await setTimeout(20);
      }
    }

    const load = Promise.all(Array.from({ length: callers }, call));
    for (let count = 0; count <= restarts; count++) {
      const begin = performance.now();
      await expect.poll(create, { interval: 5 }).toBe(true);
      slowestMs = Math.max(slowestMs, performance.now() - begin);
      const enough = successes + callsBetween;
      await expect.poll(() => successes, { interval: 5 }).toBeGreaterThan(enough);
      await upstream[Symbol.asyncDispose]();
      if (count < restarts) upstream = await startUpstream(port);
    }
    isOver = true;
    await load;
    await annotate(
      `${successes} answers, ${failures} errors, back within ${Math.ceil(slowestMs)} ms`,
    );
    expect(failures).toBeGreaterThan(0);
  },
  20_000 + restarts * 5000,
);
