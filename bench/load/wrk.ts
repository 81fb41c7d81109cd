import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pinLoad } from "../cores.ts";
import { ascendingIdsMax, plantId } from "../plant-ids.ts";
import { type Http1RequestKind, http1Request } from "../requests.ts";
import type { LoadResult } from "./load.ts";

const run = promisify(execFile);
const script = fileURLToPath(new URL("wrk.lua", import.meta.url));

/** @returns Its version, or undefined if it is not installed. */
export async function findWrk(): Promise<string | undefined> {
  try {
    // It exits with 1 even after printing its usage.
    await run("wrk", ["--version"]);
  } catch (error) {
    const { code, stdout = "" } = error as { code?: string | number; stdout?: string };
    return code === "ENOENT" ? undefined : (/^wrk \S+/.exec(stdout)?.[0] ?? "wrk");
  }
  return "wrk";
}

export interface WrkLoad {
  readonly url: string;
  readonly kind: Http1RequestKind;
  /** The first of the id streams, one for each thread. */
  readonly stream: number;
  readonly threads: number;
  readonly connections: number;
  readonly seconds: number;
}

/** The closed loop over HTTP/1.1: each connection sends its next request after an answer. */
export async function runWrk(load: WrkLoad): Promise<LoadResult> {
  const { url, kind, stream, threads, connections, seconds } = load;
  const { before, after } = http1Request(kind, new URL(url).host);
  const [command, ...args] = pinLoad([
    "wrk",
    ...["--threads", `${threads}`, "--connections", `${connections}`],
    ...["--duration", `${seconds}s`, "--timeout", "10s", "--script", script, url],
  ]);
  const { stdout } = await run(command, args, {
    timeout: seconds * 1000 + 60_000,
    env: {
      ...process.env,
      BENCH_REQUEST_BEFORE: before,
      BENCH_REQUEST_AFTER: after,
      BENCH_FIRST_ID: `${plantId({ stream, order: "ascending" }, 0)}`,
      BENCH_STREAM_STEP: `${2 * ascendingIdsMax}`,
    },
  });
  return parseResult(stdout, connections);
}

interface Summary {
  readonly requests: number;
  readonly us: number;
  readonly status: number;
  readonly socket: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

function parseResult(stdout: string, connections: number): LoadResult {
  const summary: Summary = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
  const created = summary.requests - summary.status;
  return {
    requestsPerSecond: (created * 1e6) / summary.us,
    created,
    failed: summary.status + summary.socket,
    unanswered: connections,
    p50Ms: summary.p50Us / 1000,
    p99Ms: summary.p99Us / 1000,
  };
}
