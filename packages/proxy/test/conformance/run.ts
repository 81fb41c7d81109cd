/**
 * Runs Connect's own conformance suite against the gateway on its single port, against the proxy in
 * front of the suite's servers of grpc-go and connect-go, and against the client of gRPC. The suite is a Go
 * program. It comes with the module that go.mod names, and so do the protos of the service that it
 * calls. Without Go, the run is skipped.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { createTally } from "../../../gateway/test/support/tally.ts";
import { Unavailable } from "../../../gateway/test/support/tool.ts";

const root = resolve(import.meta.dirname, "../../../..");
const folder = "packages/proxy/test/conformance";

/** On the first run, about 30 modules are downloaded and compiled. */
const buildTimeoutMs = 600_000;
const suiteTimeoutMs = 300_000;

/**
 * The suite's own client may lose a race, with a proxy or without: connect-go releases its body once
 * it has the headers of an answer (`sendUnary` in duplex_http_call.go), and Go then ends the request
 * before the announced Content-Length. By the frames, 204,815 bytes were announced and DATA with
 * END_STREAM came after 98,304. RFC 9113 section 8.1.1 calls that a stream error of type
 * PROTOCOL_ERROR, and so does Node. If its reset is sent before the trailers, the client reports
 * "internal" in place of "resource_exhausted". Servers in Go answer all the same.
 */
const knownFlaky = ["unary", "server-stream"].map(
  (kind) => `Server Message Size/HTTPVersion:2/**/${kind}/request-exceeds-server-limit`,
);

/**
 * What fails in front of the suite's server of grpc-go: it lacks IdempotentUnary, the one method that
 * GET calls. Its server of connect-go has it, and there nothing is known to fail.
 */
const knownFailing = ["Connect with GET/**/success"];

using tally = createTally("conformance");
await tally.add("the suite", async () => {
  if (spawnSync("go", ["version"]).error !== undefined) throw new Unavailable("no Go");
  const suite = go("tool", "-n", "connectconformance");
  const grpcGo = go("tool", "-n", "grpcserver");
  const connectGo = go("tool", "-n", "referenceserver");
  // The code for the server and the client, and a check of their types.
  const source = go("list", "-m", "-f", "{{.Dir}}", "connectrpc.com/conformance");
  run("buf", ["generate", source, "--clean", "--template", `${folder}/buf.gen.yaml`]);
  for (const side of ["server", "client"]) run("tsc", ["--project", `${folder}/${side}`]);
  const of = "server";
  const runs: Readonly<Record<string, Run>> = {
    "the gateway": { suite, of, args: [], known: [] },
    "the proxy": { suite, of, args: [grpcGo], known: knownFailing },
    "the proxy, connect-go": { suite, of, args: [connectGo], known: [] },
    "the client": { suite, of: "client", args: [], known: [] },
  };
  for (const [name, run] of Object.entries(runs)) await tally.add(name, async () => runSuite(run));
});

interface Run {
  readonly suite: string;
  readonly of: "server" | "client";
  /** Arguments of the program under test. */
  readonly args: readonly string[];
  readonly known: readonly string[];
}

/** @returns the counts. */
function runSuite({ suite, of, args, known }: Run): string {
  const { status, stdout } = spawnSync(
    suite,
    [
      ...["--mode", of, "--conf", `${folder}/${of}/config.yaml`],
      ...(of === "server" ? knownFlaky.flatMap((pattern) => ["--known-flaky", pattern]) : []),
      ...known.flatMap((pattern) => ["--known-failing", pattern]),
      ...["--", process.execPath, `${folder}/${of}/main.ts`, ...args],
    ],
    {
      ...{ cwd: root, timeout: suiteTimeoutMs, stdio: ["ignore", "pipe", "inherit"] },
      ...{ encoding: "utf8", maxBuffer: Number.POSITIVE_INFINITY },
    },
  );
  process.stdout.write(stdout);
  const [counts] = /^\d+ passed, \d+ failed$/m.exec(stdout) ?? ["the suite came to no end"];
  const [expected = "0"] = /(?<=\(Another )\d+(?= failed as expected)/.exec(stdout) ?? [];
  // The suite counts tests that it could not run as neither.
  const [missing = "0"] = /(?<=Another )\d+(?= could not be run)/.exec(stdout) ?? [];
  const outcome = `${counts}, ${expected} known to fail, ${missing} not run`;
  if (status !== 0 || missing !== "0") throw new Error(outcome);
  return outcome;
}

/** The output of a `go` command. The first one downloads and compiles the suite. */
function go(...args: readonly string[]): string {
  try {
    return execFileSync("go", args, {
      ...{ cwd: join(root, folder), timeout: buildTimeoutMs },
      ...{ encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
    }).trim();
  } catch (cause) {
    throw new Error("the suite cannot be had: Go says why above; it needs the network once", {
      cause,
    });
  }
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd: root, stdio: "inherit" });
}
