/** One stranger opens as many connections as the server accepts, while newcomers have requests. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { defaultLimits } from "connect-gateway/limits";
import { createRun, type Run } from "../campaign.ts";
import { createOnce } from "../load/caller.ts";
import { startServer } from "../server.ts";
import { recover } from "./recover.ts";

/** More than the server accepts. */
const excess = 300;
const newcomers = 140;
/** Of the stranger. Newcomers have 127.0.0.1. */
const localAddress = process.platform === "linux" ? "127.0.0.2" : "127.0.0.1";
/** Files of a process besides its connections. */
const otherFiles = 500;

/** This is 200 per second. More would be a flood of connections, which is another attack. */
const reopening = { everyMs: 100, atOnce: 20 };
/** So that the server has accepted all of them before the newcomers come. */
const openedAtOnce = 500;
/** So that no timeout makes room for newcomers. */
const patient = ["--request-timeout-ms", "600000", "--idle-timeout-ms", "600000"];

/** What each connection sends, and the server's arguments. */
const strangers: readonly [what: string, sent: string, ...args: string[]][] = [
  ["send nothing", ""],
  ["send half a request", "POST /plants HTTP/1.1\r\nHost: a\r\n"],
  [
    "were answered once, from one address",
    "GET /plants HTTP/1.1\r\nHost: a\r\n\r\n",
    ...["--connections-per-address-max", "1000"],
  ],
];

/** Opening ten thousand connections takes a busy machine a minute; then one kind has to do. */
const begunMinutesMax = 0.5;

export async function crowd(part: Run): Promise<void> {
  const run = createRun({ ...part, minutes: Math.max(part.minutes, begunMinutesMax) }, part);
  const size = Math.min(defaultLimits.connectionsMax + excess, filesMax() - otherFiles);
  const limit = ["--connections-max", `${size - excess}`];
  for (const [what, sent, ...args] of strangers) {
    if (run.isOver()) break;
    await using server = await startServer({ args: [...limit, ...patient, ...args] });
    const create = (id: number) => createOnce(server.url, { id: BigInt(id), name: "Basil" });
    {
      using crowd = openCrowd(server.port, sent);
      for (let opened = 0; opened < size; opened += openedAtOnce) {
        await crowd.open(Math.min(openedAtOnce, size - opened));
        await create(0);
      }
      for (let id = 1; id <= newcomers; id++) {
        const outcome = await create(id);
        if (outcome === "stored") continue;
        run.find(`crowd: beside ${size} that ${what}`, [`newcomer ${id}: ${outcome}`]);
      }
    }
    run.count(`newcomers beside ${size} that ${what}`, newcomers);
    run.find("crowd", await recover(server));
  }
}

/** How many files this process and the servers that it starts may open. */
function filesMax(): number {
  if (process.platform !== "linux") return 1024;
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 1024);
}

/** Idle connections. Those that the server closes are reopened, some at a time. */
function openCrowd(port: number, sent: string) {
  const sockets = new Set<Socket>();
  let closed = 0;

  /** @returns when all of them are established for the kernel. */
  async function open(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async () => {
        const socket = connect({ port, host: "127.0.0.1", localAddress });
        sockets.add(socket);
        socket.on("error", () => {});
        socket.once("close", () => {
          sockets.delete(socket);
          closed++;
        });
        socket.resume();
        socket.write(sent);
        await once(socket, "connect").catch(() => {});
      }),
    );
  }

  const timer = setInterval(() => {
    const count = Math.min(closed, reopening.atOnce);
    closed -= count;
    void open(count);
  }, reopening.everyMs);
  return {
    open,
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}
