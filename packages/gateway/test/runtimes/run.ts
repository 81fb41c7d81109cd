/**
 * Tests the packed gateway on runtimes for Node programs: small servers as users write them, and
 * calls with every protocol. Downloads the runtimes from npm. A runtime that is not available is
 * skipped.
 */
import { rejects } from "node:assert/strict";
import { join } from "node:path";
import { createCertificate, hasOpenssl } from "../support/certificate.ts";
import { createTally } from "../support/tally.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { Unavailable } from "../support/tool.ts";
import { within } from "../support/within.ts";
import {
  brokenOff,
  type Call,
  connectCalls,
  drain,
  grpcCalls,
  grpcWebCalls,
  leavingConnect,
  leavingGrpc,
  restCalls,
  type Target,
} from "./calls.ts";
import { installPage, type Page, pageCalls, pages, servePage } from "./pages.ts";
import { createProject } from "./project.ts";
import { fetchRuntime, type Runtime, runtimes } from "./runtimes.ts";
import { startServer } from "./server-process.ts";

interface Program {
  readonly name: string;
  readonly scheme: "http" | "https";
  /** Sent in order to one server. */
  readonly calls: readonly Call<Target>[];
}

const http1Calls = [...restCalls, ...connectCalls, ...grpcWebCalls];

const programs: readonly Program[] = [
  { name: "http", scheme: "http", calls: [...http1Calls, leavingConnect] },
  { name: "http2", scheme: "http", calls: [...grpcCalls, brokenOff, leavingGrpc] },
  { name: "tls", scheme: "https", calls: [...restCalls, ...grpcCalls] },
  { name: "serve", scheme: "http", calls: [...http1Calls, ...grpcCalls, drain] },
];

using tally = createTally("runtimes");
await using folder = await createTemporaryFolder();
const project = join(folder.path, "project");
const programsFolder = await createProject(project);
const certificate = hasOpenssl ? createCertificate(folder.path, "localhost") : undefined;

for (const runtime of runtimes) {
  const fetching = fetchRuntime(runtime, join(folder.path, runtime.name));
  for (const program of programs) {
    await tally.add(`${runtime.name}, ${program.name}`, async () =>
      tryProgram(runtime, await fetching, program),
    );
  }
}
for (const page of pages) await tally.add(`docs/fetch.md, ${page.name}`, () => tryPage(page));

async function tryProgram(
  { refuses }: Runtime,
  command: readonly string[],
  { name, scheme, calls }: Program,
): Promise<string> {
  if (scheme === "https" && certificate === undefined) {
    throw new Unavailable("no openssl to make a certificate with");
  }
  const files = certificate === undefined ? [] : [certificate.certFile, certificate.keyFile];
  const program = name === "serve" ? ["serve.ts"] : ["adapter.ts", name, ...files];
  const starting = startServer([...command, ...program], programsFolder);
  const refusal = refuses?.[name];
  if (refusal !== undefined) {
    // The program must say so, instead of failing calls.
    const ended = starting.then((server) => server[Symbol.asyncDispose]());
    await rejects(ended, refusal);
    return `it refuses to start: ${refusal.source}`;
  }
  await using server = await starting;
  const origin = `${scheme}://127.0.0.1:${server.port}`;
  const trusted = scheme === "https" && certificate ? { ca: certificate.pem } : {};
  return await runAll(calls, (call) => call.run({ server, origin, ...trusted }));
}

/** The program of docs/fetch.md, as it stands there. */
async function tryPage(page: Page): Promise<string> {
  const pageFolder = join(folder.path, page.program.replaceAll(/\W/g, "-"));
  await installPage(page, project, pageFolder);
  await using server = await servePage(page, pageFolder);
  return await runAll(pageCalls, (call) => call.run(server.url));
}

async function runAll<T extends { readonly name: string }>(
  calls: readonly T[],
  run: (call: T) => Promise<void>,
): Promise<string> {
  for (const call of calls) {
    await within("the end of the call", run(call)).catch((cause: unknown) => {
      throw new Error(call.name, { cause });
    });
  }
  return `${calls.length} calls`;
}
