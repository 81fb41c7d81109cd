/** The programs of docs/fetch.md, exactly as they stand there, with the bookshop of docs/start.md. */
import { deepEqual, equal, match } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { envelope } from "../support/envelope.ts";
import { findFreePort } from "../support/free-port.ts";
import { environment, runTool, Unavailable } from "../support/tool.ts";
import { within } from "../support/within.ts";
import { install } from "./project.ts";

const root = resolve(import.meta.dirname, "../../../..");
const bin = (name: string) => join(root, "node_modules/.bin", name);

/** A program of the page on its runtime. */
export interface Page {
  readonly name: string;
  /** Packages of npm, without install scripts. */
  readonly packages?: readonly string[];
  /** The file of the program on the page. */
  readonly program: string;
  /** Where it serves. */
  readonly path?: string;
  /** Builds what the runtime starts. */
  readonly prepare?: (folder: string, port: number) => Promise<void>;
  /** What starts it, in the folder. */
  readonly command: (port: number) => readonly string[];
}

export const pages: readonly Page[] = [
  {
    name: "Bun 1.4.5",
    packages: ["@oven/bun-linux-x64@1.4.5"],
    program: "server-bun.ts",
    command: () => ["node_modules/@oven/bun-linux-x64/bin/bun", "run", "server-bun.ts"],
  },
  {
    name: "Deno 2.9.6",
    packages: ["@deno/linux-x64-glibc@2.9.6"],
    program: "server-deno.ts",
    command: () => [
      ...["node_modules/@deno/linux-x64-glibc/deno", "run", "--allow-net", "server-deno.ts"],
    ],
  },
  {
    name: "workerd 1.20261117.1",
    packages: ["@cloudflare/workerd-linux-64@1.20261117.1"],
    program: "worker.ts",
    prepare: bundleWorker,
    command: () => [
      ...["node_modules/@cloudflare/workerd-linux-64/bin/workerd", "serve", "workerd.capnp"],
    ],
  },
  {
    name: "Hono 4.13.19",
    packages: ["hono@4.13.19", "@hono/node-server@2.1.9"],
    program: "server-hono.ts",
    command: () => [bin("node"), "server-hono.ts"],
  },
  {
    name: "tools for models",
    program: "server-mcp.ts",
    command: () => [bin("node"), "server-mcp.ts"],
  },
  {
    name: "Next.js 16.4.6",
    packages: [
      ...["next@16.4.6", "react@19.2.0", "react-dom@19.2.0", "typescript@5.9.3"],
      ...["@types/react@19.2.0", "@types/node@26.6.6"],
    ],
    program: "app/api/[...path]/route.ts",
    path: "/api",
    prepare: buildNext,
    command: (port) => [bin("node"), "node_modules/next/dist/bin/next", "start", "-p", `${port}`],
  },
];

/** Writes the bookshop and a program into a project. @param port In place of that of the page. */
async function writePage({ program }: Page, folder: string, port: number): Promise<void> {
  const isOther = (name: string) => pages.some((page) => page.program === name) && name !== program;
  for (const page of ["start.md", "fetch.md", "mcp.md"]) {
    const text = await readFile(join(root, "packages/gateway/docs", page), "utf8");
    for (const [, name = "", body = ""] of text.matchAll(
      /^```\w+\n(?:\/\/|#) (\S+)\n(.*?)^```$/gms,
    )) {
      if (isOther(name)) continue;
      const file = join(folder, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, body.replaceAll("8080", String(port)));
    }
  }
  const PATH = `${join(root, "node_modules/.bin")}:${environment["PATH"]}`;
  await runTool(folder, ["buf", "generate"], { PATH });
}

/** A project with what a page needs. @throws {Unavailable} */
export async function installPage(page: Page, project: string, folder: string): Promise<void> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Unavailable("not Linux on x64");
  const filter = (path: string) => path !== join(project, "test");
  await cp(project, folder, { recursive: true, filter });
  await install(folder, ["--no-save", "--package-lock=false", ...(page.packages ?? [])]);
}

/** Starts the program of a page. */
export async function servePage(
  page: Page,
  folder: string,
): Promise<AsyncDisposable & { url: string }> {
  const port = await findFreePort();
  await writePage(page, folder, port);
  await page.prepare?.(folder, port);
  const [file = "", ...args] = page.command(port);
  const child = spawn(resolve(folder, file), args, {
    ...{ cwd: folder, env: environment, stdio: ["ignore", "ignore", "pipe"] },
  });
  const ended = once(child, "close");
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (written: string) => {
    errors += written;
  });
  const early = ended.then(() => Promise.reject(new Error(errors)));
  early.catch(() => {});
  const url = `http://127.0.0.1:${port}${page.path ?? ""}`;
  async function end(): Promise<void> {
    child.kill("SIGKILL");
    await ended;
  }
  try {
    await within("a server", Promise.race([answered(url), early]));
  } catch (error) {
    await end();
    throw error;
  }
  return { url, [Symbol.asyncDispose]: end };
}

/** The runtimes say in different words that they listen: only an answer tells it of all. */
async function answered(url: string): Promise<void> {
  for (;;) if ((await fetch(url).catch(() => delay(50))) !== undefined) return;
}

/** As `wrangler dev`: a bundle, and workerd with the settings of wrangler.jsonc. */
async function bundleWorker(folder: string, port: number): Promise<void> {
  const format = ["--format", "esm", "--platform", "browser"];
  await runTool(folder, [bin("rolldown"), "worker.ts", ...format, "-o", "worker.js"]);
  const settings = JSON.parse(await readFile(join(folder, "wrangler.jsonc"), "utf8"));
  await writeFile(
    join(folder, "workerd.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker", esModule = embed "worker.js")],
    compatibilityDate = "${settings.compatibility_date}",
    compatibilityFlags = ${JSON.stringify(settings.compatibility_flags)},
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`,
  );
}

async function buildNext(folder: string): Promise<void> {
  await writeFile(
    join(folder, "app/layout.tsx"),
    "export default ({ children }: { children: React.ReactNode }) => <html><body>{children}</body></html>;\n",
  );
  const build = [bin("node"), "node_modules/next/dist/bin/next", "build"] as const;
  await runTool(folder, build, { NEXT_TELEMETRY_DISABLED: "1" });
}

const book = { id: "9007199254740993", title: "Dune" };
const text = JSON.stringify(book);
const key = JSON.stringify({ id: book.id });
const rpc = "/bookshop.v1.BookService";

async function send(url: string, type?: string, body?: BodyInit) {
  const headers = { "content-type": type ?? "" };
  const response = await fetch(url, body === undefined ? {} : { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
}

/** The calls of every page. */
export const pageCalls: readonly { name: string; run(url: string): Promise<void> }[] = [
  {
    name: "REST: an int64",
    run: async (url) => deepEqual(await send(`${url}/v1/books/${book.id}`), { status: 200, text }),
  },
  {
    name: "REST: an error",
    async run(url) {
      const { status, text } = await send(`${url}/v1/books/1`);
      deepEqual([status, JSON.parse(text).message], [404, "there is no book 1"]);
    },
  },
  {
    name: "REST: a stream",
    run: async (url) => deepEqual((await send(`${url}/v1/books:watch`)).text, `${text}\n`),
  },
  {
    name: "Connect: unary",
    async run(url) {
      deepEqual((await send(`${url}${rpc}/GetBook`, "application/json", key)).text, text);
    },
  },
  ...(
    [
      ["Connect: a stream", "connect+json", "WatchBooks", "{}", /"Dune"}.{5}{}$/s],
      ["gRPC-Web: unary", "grpc-web+json", "GetBook", key, /"Dune"}.*grpc-status: 0\r\n$/s],
      ["gRPC-Web: a stream", "grpc-web+json", "WatchBooks", "{}", /"Dune"}.*grpc-status: 0\r\n$/s],
    ] as const
  ).map(([name, type, method, json, expected]) => ({
    name,
    async run(url: string) {
      const body = envelope(json);
      match((await send(`${url}${rpc}/${method}`, `application/${type}`, body)).text, expected);
    },
  })),
  {
    name: "Connect: messages of many values, one after another",
    async run(url) {
      const body = Buffer.alloc(40_000, Uint8Array.of(8, 1)); // an id, often
      const ask = () => send(`${url}${rpc}/GetBook`, "application/proto", body);
      deepEqual([(await ask()).status, (await ask()).status], [404, 404]);
    },
  },
  {
    name: "REST: an answer that is compressed",
    async run(url) {
      const large = JSON.stringify({ id: "2", title: "Emma".repeat(1000) });
      equal((await send(`${url}/v1/books`, "application/json", large)).text, large);
    },
  },
];
