/**
 * Tests the packed gateway on runtimes for Node programs: small servers as users write them, and
 * calls with every protocol. Downloads the runtimes from npm. A runtime that is not available is
 * skipped.
 */
import { join } from "node:path";
import { createCertificate, hasOpenssl } from "../support/certificate.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { within } from "../support/within.ts";
import {
  type Call,
  connectCalls,
  drain,
  grpcCalls,
  grpcWebCalls,
  leavingConnect,
  leavingGrpc,
  restCalls,
} from "./calls.ts";
import { installPage, type Page, pageCalls, pages, servePage } from "./pages.ts";
import { createProject } from "./project.ts";
import { fetchRuntime, type Runtime, runtimes } from "./runtimes.ts";
import { startServer } from "./server-process.ts";

interface Program {
  readonly name: string;
  readonly scheme: "http" | "https";
  /** Sent in order to one server. */
  readonly calls: readonly Call[];
}

const http1Calls = [...restCalls, ...connectCalls, ...grpcWebCalls];

const programs: readonly Program[] = [
  { name: "http", scheme: "http", calls: [...http1Calls, leavingConnect] },
  { name: "http2", scheme: "http", calls: [...grpcCalls, leavingGrpc] },
  { name: "tls", scheme: "https", calls: [...restCalls, ...grpcCalls] },
  { name: "serve", scheme: "http", calls: [...http1Calls, ...grpcCalls, drain] },
];

const counts = { passed: 0, failed: 0, skipped: 0 };

await using folder = await createTemporaryFolder();
const project = join(folder.path, "project");
const programsFolder = await createProject(project);
const certificate = hasOpenssl ? createCertificate(folder.path, "localhost") : undefined;

for (const runtime of runtimes) {
  try {
    const command = await fetchRuntime(runtime, join(folder.path, runtime.name));
    for (const program of programs) await tryProgram(runtime, command, program);
  } catch (error) {
    for (const { name, calls } of programs) skip(`${runtime.name}, ${name}`, calls, error);
  }
}
for (const page of pages) await tryPage(page);
const { passed, failed, skipped } = counts;
print(`\nruntimes: ${passed} passed, ${failed} failed, ${skipped} skipped`);
if (failed > 0) process.exitCode = 1;

async function tryProgram(
  runtime: Runtime,
  command: readonly string[],
  program: Program,
): Promise<void> {
  const { name, scheme, calls } = program;
  const title = `${runtime.name}, ${name}`;
  if (scheme === "https" && certificate === undefined) {
    skip(title, calls, "no openssl to make a certificate with");
    return;
  }
  const files = certificate === undefined ? [] : [certificate.certFile, certificate.keyFile];
  const starting = startServer([...command, `${name}.ts`, ...files], programsFolder);
  const refusal = runtime.refuses?.[name];
  if (refusal !== undefined) {
    await expectRefusal(title, starting, refusal);
    return;
  }
  try {
    await using server = await starting;
    const origin = `${scheme}://127.0.0.1:${server.port}`;
    const trusted = scheme === "https" && certificate ? { ca: certificate.pem } : {};
    let passed = 0;
    for (const call of calls) {
      const running = call.run({ server, origin, ...trusted });
      if (await count(`${title}, ${call.name}`, within("the end of the call", running))) passed++;
    }
    print(`${title}: ${passed} of ${calls.length} calls passed`);
  } catch (error) {
    fail(title, error);
  }
}

/** The program of docs/fetch.md, as it stands there. */
async function tryPage(page: Page): Promise<void> {
  const title = `docs/fetch.md, ${page.name}`;
  const pageFolder = join(folder.path, page.program.replaceAll(/\W/g, "-"));
  try {
    await installPage(page, project, pageFolder);
  } catch (error) {
    skip(title, pageCalls, error);
    return;
  }
  try {
    await using server = await servePage(page, pageFolder);
    let passed = 0;
    for (const call of pageCalls) {
      const running = within("the end of the call", call.run(server.url));
      if (await count(`${title}, ${call.name}`, running)) passed++;
    }
    print(`${title}: ${passed} of ${pageCalls.length} calls passed`);
  } catch (error) {
    fail(title, error);
  }
}

/** If a runtime does not support something, the program must say so, instead of failing calls. */
async function expectRefusal(
  title: string,
  starting: ReturnType<typeof startServer>,
  refusal: RegExp,
): Promise<void> {
  const refused = starting.then(
    async (server) => {
      await server[Symbol.asyncDispose]();
      throw new Error("it starts, which was not expected of this runtime");
    },
    (error: unknown) => {
      if (!refusal.test(String(error))) throw error;
    },
  );
  if (await count(title, refused))
    print(`${title}: refuses to start, as expected: ${refusal.source}`);
}

/** @returns whether it passed. */
async function count(title: string, running: Promise<unknown>): Promise<boolean> {
  try {
    await running;
    counts.passed++;
    return true;
  } catch (error) {
    fail(title, error);
    return false;
  }
}

function fail(title: string, error: unknown): void {
  counts.failed++;
  print(`${title}: failed: ${error}`);
}

function skip(title: string, calls: readonly unknown[], reason: unknown): void {
  counts.skipped += calls.length;
  print(`${title}: ${calls.length} skipped: ${reason}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
