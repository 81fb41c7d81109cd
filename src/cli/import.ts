import { createReadStream, fstatSync, openSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { addAbortSignal } from "node:stream";
import { Command, InvalidArgumentError, Option } from "commander";
import { listenForStop, shortenCollections } from "connect-gateway-kit/command/process";
import { CommandFailure, cannot } from "connect-gateway-kit/command/run";
import {
  type FormatName,
  formatNames,
  formatOfFile,
  formats,
  isZipped,
} from "../transfer/format.ts";
import { createPlantCreator, type PlantCreator } from "../transfer/grpc-client.ts";
import { createPlantImport, type ImportEnd, type ImportState } from "../transfer/plant-import.ts";
import { defaultRowLimits, FormatError } from "../transfer/row.ts";
import { unzip } from "../transfer/unzip.ts";
import { readClientToken } from "./client-token.ts";
import { count, createProgress } from "./progress.ts";
import { openRejects } from "./rejects.ts";

interface ImportFlags {
  readonly url: string;
  readonly bearerTokenFile?: string;
  readonly ca?: string;
  readonly format?: FormatName;
  readonly concurrency: number;
  readonly retryFor: number;
  readonly lineBytesMax: number;
  readonly rejects?: string;
  readonly force: boolean;
  readonly dryRun: boolean;
}

export function createImportCommand(): Command {
  const { lineBytesMax: max } = defaultRowLimits;
  return new Command("import")
    .description("Create the plants of a file on a running server, over gRPC.")
    .argument("<file>", "NDJSON or CSV, also with gzip; - is standard input")
    .option("--url <url>", "the server", "http://127.0.0.1:8080")
    .option("--bearer-token-file <file>", "file with the token (default: PLANT_STORE_TOKEN)")
    .option("--ca <file>", "PEM file of the certificates to trust, for https")
    .addOption(new Option("--format <name>", "default: by the file name").choices(formatNames))
    .option("--concurrency <number>", "calls in flight", wholeFrom(1, 1024), 128)
    .option("--retry-for <seconds>", "how long rows are retried", wholeFrom(0, 86_400), 60)
    .option("--line-bytes-max <number>", "longest row, in bytes", wholeFrom(64, 2 ** 28), max)
    .option("--rejects <file>", "file for rejected rows (default: FILE.rejects.ndjson)")
    .option("--force", "replace an existing file of rejected rows", false)
    .option("--dry-run", "check each row, and send none", false)
    .addHelpText("after", notes)
    .action(importFile);
}

const notes = `
NDJSON is {"id": 1, "name": "Basil", "tag": "herb"}, one object per line. CSV is RFC 4180 with the
header id,name,tag. An empty field means no tag, a quoted empty field ("") an empty tag.
You can run an import again after any outcome: rows that are already stored succeed again.
Rejected rows are written to a file, each with its line, the reason and the row. Fix the rows and
import that file. If the rows come from standard input or a pipe, they go to standard error. Without a
server, --dry-run cannot find ids that are taken.
Exit codes: 0 all stored, 3 all but the rejected rows, 1 failed or interrupted, 2 wrong usage.`;

function wholeFrom(min: number, max: number) {
  return (text: string) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

async function importFile(file: string, flags: ImportFlags): Promise<void> {
  const format = formats[flags.format ?? formatOfFile(file) ?? rejectFormat(file)];
  const url = parseUrl(flags.url);
  const creator = await openCreator(url, flags);
  shortenCollections();
  const source = openSource(file);
  using stop = listenForStop();
  using progress = createProgress();
  const rejects = openRejects(file, flags, () => progress.end());
  const plantImport = createPlantImport(creator, {
    concurrency: flags.concurrency,
    retryForMs: flags.retryFor * 1000,
    signal: stop.signal,
    onRejected: (rejection) => rejects.write(rejection),
  });
  addAbortSignal(plantImport.ended, source.stream);
  const done = flags.dryRun ? "would store" : "stored";
  const what = flags.dryRun ? `checked ${file}` : `imported ${file} to ${url}`;
  const show = () => {
    const { stored, rejected, waitingFor } = plantImport.state;
    const phase = waitingFor === undefined ? "importing" : `waiting for the server (${waitingFor})`;
    const { stream, bytes } = source;
    const end = bytes === undefined ? "unknown" : { share: stream.bytesRead / Math.max(bytes, 1) };
    progress.update(phase, stored + rejected, end);
  };
  const timer = setInterval(show, 100);
  try {
    const rows = format.read(unzip(readWhole(file, source)), { lineBytesMax: flags.lineBytesMax });
    const end = await plantImport.run(rows).finally(() => rejects.close());
    if (end.kind === "complete" && !flags.dryRun) await rejects.removeOld();
    progress.end();
    report(end, plantImport.state, rejects.place, { what, url, done });
  } catch (error) {
    if (error instanceof FormatError) {
      const far = howFar(plantImport.state, done, "fix the file, then ");
      throw new CommandFailure(1, `${file}: ${error.message}; ${far}`);
    }
    throw error instanceof Error && "syscall" in error ? cannot("read", file, error) : error;
  } finally {
    clearInterval(timer);
    creator.close();
    source.stream.destroy();
  }
}

function rejectFormat(file: string): never {
  const what = file === "-" ? "standard input" : `${file} does not say`;
  const problem = `the format is unknown (${what}): set --format ${formatNames.join(" or ")}`;
  throw new CommandFailure(2, problem);
}

function parseUrl(text: string): string {
  const url = URL.parse(text);
  const isBare = url !== null && url.search === "" && url.hash === "" && url.username === "";
  if (isBare && /^https?:$/.test(url.protocol)) return text;
  const problem = "--url must be http://HOST:PORT or https://HOST:PORT, with a path at most";
  throw new CommandFailure(2, problem);
}

/** A dry run sends nothing. Reading a row makes all the checks of a server. */
async function openCreator(url: string, flags: ImportFlags): Promise<PlantCreator> {
  if (flags.dryRun) return { create: async () => {}, close() {} };
  const token = await readClientToken(flags.bearerTokenFile);
  const { ca: file } = flags;
  if (file === undefined) return createPlantCreator({ url, token });
  const ca = await readFile(file, "utf8").catch((e) => Promise.reject(cannot("read", file, e)));
  if (!ca.includes("CERTIFICATE-")) throw new CommandFailure(2, `${file} has no PEM certificate`);
  return createPlantCreator({ url, token, ca });
}

type Source = ReturnType<typeof openSource>;

function openSource(file: string) {
  try {
    const stats = file === "-" ? fstatSync(0) : statSync(file);
    if (stats.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    /** The size; undefined if unknown, as for a pipe. */
    const bytes = stats.isFile() ? stats.size : undefined;
    if (bytes === 0 && isZipped(file)) throw new CommandFailure(1, `${file} is empty, not gzip`);
    if (file === "-") return { stream: process.stdin, bytes };
    const fd = openSync(file, "r");
    // A read of a file cannot be stopped, and one of a pipe may wait for ever.
    return { stream: stats.isFIFO() ? new Socket({ fd }) : createReadStream("", { fd }), bytes };
  } catch (error) {
    throw cannot("read", file, error);
  }
}

/** What is left of a row that was cut off may be another plant. @throws {FormatError} */
async function* readWhole(file: string, { stream, bytes }: Source): AsyncGenerator<Buffer> {
  yield* stream;
  // Standard input may begin behind the start of a file.
  const bytesNow = file === "-" ? fstatSync(0).size : stream.bytesRead;
  if (bytes === undefined || bytesNow === bytes) return;
  throw new FormatError(`it changed while it was read, from ${bytes} to ${bytesNow} bytes`);
}

function report(
  end: ImportEnd,
  state: ImportState,
  rejects: string,
  { what, url, done }: Readonly<Record<"what" | "url" | "done", string>>,
): void {
  const { stored, rejected } = state;
  if (end.kind !== "complete") {
    const reason = end.kind === "failed" ? `${url}: ${end.reason}` : "interrupted";
    throw new CommandFailure(1, `${reason}; ${howFar(state, done)}`);
  }
  if (rejected > 0) {
    const problem = `rejected ${rejected} of ${count(stored + rejected, "row")}, see ${rejects}; ${done} the other ${stored}`;
    throw new CommandFailure(3, problem);
  }
  process.stdout.write(`${what}: ${done} ${count(stored, "row")}, rejected none\n`);
}

function howFar(state: ImportState, done: string, when = ""): string {
  const { stored, rejected, firstOpenLine } = state;
  return `${done} ${count(stored, "row")}, rejected ${rejected}, finished all rows before line ${firstOpenLine}; ${when}run the same command again${rejected > 0 ? " with --force" : ""}: it reads the whole file again, which is safe`;
}
