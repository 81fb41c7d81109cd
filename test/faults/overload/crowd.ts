/** One stranger opens as many connections as the server accepts, while newcomers have requests. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import { connect, type Socket } from "node:net";
import { defaultLimits } from "connect-gateway/limits";
import { spawnServer } from "../../support/child-server.ts";
import { knownToken } from "../../support/test-server.ts";
import type { CampaignResult } from "../campaign.ts";
import { patienceMs } from "../start-server.ts";
import type { PartOptions } from "./overload.ts";
import { recover } from "./recover.ts";

/** More than the server accepts. */
const excess = 300;

const newcomers = 140;

/** Files of a process besides its connections. */
const otherFiles = 500;

/** This is 200 per second. More would be a flood of connections, which is another attack. */
const reopening = { everyMs: 100, atOnce: 20 };

/** So that the server has accepted all of them before the newcomers come. */
const openedAtOnce = 500;

interface Stranger {
  readonly what: string;
  /** What each connection sends. */
  readonly sent: string;
  readonly args: readonly string[];
}

/** So that no timeout makes room for newcomers. */
const patient = ["--request-timeout-ms", "600000", "--idle-timeout-ms", "600000"];

const strangers: readonly Stranger[] = [
  { what: "send nothing", sent: "", args: [] },
  { what: "send half a request", sent: "POST /plants HTTP/1.1\r\nHost: a\r\n", args: [] },
  {
    what: "were answered once, from one address",
    sent: "GET /plants HTTP/1.1\r\nHost: a\r\n\r\n",
    args: ["--connections-per-address-max", "1000"],
  },
];

/** Opening ten thousand connections takes a busy machine a minute; then one kind has to do. */
const begunMsMax = 30_000;

export async function crowd({ partMs, log, signal }: PartOptions): Promise<CampaignResult> {
  const tried: Record<string, number> = {};
  const found: string[] = [];
  const size = Math.min(defaultLimits.connectionsMax + excess, filesMax() - otherFiles);
  const limit = ["--connections-max", `${size - excess}`];
  const end = performance.now() + Math.max(partMs, begunMsMax);
  for (const { what, sent, args } of strangers) {
    if (signal.aborted || performance.now() > end) break;
    const allArgs = [...limit, ...patient, ...args];
    await using server = await spawnServer({ args: allArgs, startTimeoutMs: patienceMs });
    using strangers = new Strangers(server.port, sent);
    for (let opened = 0; opened < size; opened += openedAtOnce) {
      await strangers.open(Math.min(openedAtOnce, size - opened));
      await createPlant(server.url, 0).catch(() => {});
    }
    const waits: number[] = [];
    for (let id = 1; id <= newcomers; id++) {
      const begin = performance.now();
      const status = await createPlant(server.url, id).catch(String);
      waits.push(performance.now() - begin);
      if (status !== 200)
        found.push(`crowd: beside ${size} that ${what}, newcomer ${id}: ${status}`);
    }
    waits.sort((a, b) => a - b);
    const [median = 0, longest = 0] = [waits[newcomers / 2], waits.at(-1)];
    log(
      `crowd: beside ${size} connections that ${what}, ${newcomers} newcomers waited ` +
        `${median.toFixed(1)} ms (median), ${longest.toFixed(1)} ms at most; ${strangers.reopened} reopened`,
    );
    tried[`newcomers beside ${size} that ${what}`] = newcomers;
    strangers[Symbol.dispose]();
    found.push(...(await recover("crowd", server)));
  }
  return { tried, found };
}

/** How many files this process and the servers that it starts may open. */
function filesMax(): number {
  if (process.platform !== "linux") return 1024;
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 1024);
}

/** Idle connections. Those that the server closes are reopened, some at a time. */
class Strangers implements Disposable {
  readonly #port: number;
  readonly #sent: string;
  readonly #sockets = new Set<Socket>();
  readonly #timer: NodeJS.Timeout;
  #closed = 0;
  reopened = 0;

  constructor(port: number, sent: string) {
    this.#port = port;
    this.#sent = sent;
    this.#timer = setInterval(() => this.#reopen(), reopening.everyMs);
  }

  /** @returns when all of them are established for the kernel. */
  async open(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async () => {
        const socket = connect({ port: this.#port, host: "127.0.0.1", localAddress: "127.0.0.1" });
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.once("close", () => {
          this.#sockets.delete(socket);
          this.#closed++;
        });
        socket.resume();
        socket.write(this.#sent);
        await once(socket, "connect").catch(() => {});
      }),
    );
  }

  #reopen(): void {
    const count = Math.min(this.#closed, reopening.atOnce);
    this.#closed -= count;
    this.reopened += count;
    void this.open(count);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** On a separate connection from a separate address. @returns the status. */
function createPlant(url: string, id: number): Promise<number> {
  const status = Promise.withResolvers<number>();
  const request = http.request(`${url}/plants`, {
    ...{ method: "POST", agent: false, signal: AbortSignal.timeout(patienceMs) },
    localAddress: process.platform === "linux" ? "127.0.0.2" : "127.0.0.1",
    headers: { authorization: `Bearer ${knownToken}`, "content-type": "application/json" },
  });
  request.once("error", status.reject);
  request.once("response", (response) => {
    response.resume();
    status.resolve(response.statusCode ?? 0);
  });
  request.end(JSON.stringify({ id, name: "Basil" }));
  return status.promise;
}
