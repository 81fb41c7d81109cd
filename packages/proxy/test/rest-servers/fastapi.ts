/** The command before a FastAPI server, for gRPC clients, browsers and models. */
import { equal, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, writeFile } from "node:fs/promises";
import http from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { credentials, loadPackageDefinition } from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { rolldown } from "rolldown";
import { file_library_v1_catalog } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { findFreePort, listen } from "../../../gateway/test/support/free-port.ts";
import { openModern } from "../../../gateway/test/support/mcp-client.ts";
import { createVenv } from "../../../gateway/test/support/python-venv.ts";
import { Unavailable } from "../../../gateway/test/support/tool.ts";
import { browserPath, launchBrowser } from "../../../kit/test/support/browser.ts";
import { startCommand, until } from "../cli/command.ts";

const source = join(import.meta.dirname, "fastapi");
const descriptors = descriptorSetOf(file_library_v1_catalog);

/** Exact, though it is no exact number of JavaScript. */
const id = "9007199254740993";

type Attempt = readonly [what: string, run: () => Promise<void>];

/** Calls `attempt` with each client. @throws {Unavailable} */
export async function tryFastApi(
  folder: string,
  attempt: (...attempt: Attempt) => Promise<void>,
): Promise<void> {
  const own = join(folder, "fastapi");
  await cp(source, own, { recursive: true });
  const bin = await createVenv(own, "requirements.txt");
  await writeFile(join(folder, "services.binpb"), descriptors);
  const port = await findFreePort();
  const server = spawn(join(bin, "uvicorn"), ["server:app", "--port", `${port}`], { cwd: own });
  const ended = once(server, "close");
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilListening(url);
    const args = ["--upstream", `rest+${url}`, "--descriptors", "services.binpb", "--mcp"];
    using origin = await openPage();
    await using command = await startCommand([...args, "--cors-origin", origin.url], folder);
    await until(200, `${command.origin}/readyz`);
    await attempt("grpc-js", () => callGrpc(command.port));
    await attempt("an MCP client", () => callTool(command.origin));
    if (browserPath === undefined) throw new Unavailable("there is no Chromium");
    await attempt("clients in Chromium", () => callInBrowser(origin.url, command.origin));
  } finally {
    server.kill("SIGKILL");
    await ended;
  }
}

async function untilListening(url: string): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  while (!(await fetch(url, { method: "HEAD", signal }).catch(() => undefined))) {
    signal.throwIfAborted();
  }
}

async function callGrpc(port: number): Promise<void> {
  const definition = loadFileDescriptorSetFromBuffer(Buffer.from(descriptors), { longs: String });
  const { library } = loadPackageDefinition(definition) as never as {
    library: { v1: { CatalogService: new (...parameters: unknown[]) => Catalog } };
  };
  const client = new library.v1.CatalogService(`127.0.0.1:${port}`, credentials.createInsecure());
  const create = promisify<object, Record<string, unknown>>(client.createVolume.bind(client));
  const request = { parent: "shelves/grpc", volume: { id, title: "é" } };
  const { name, ...volume } = await create(request);
  equal(name, `shelves/grpc/volumes/${id}`);
  equal(volume["id"], id);
  await rejects(create(request), { code: 10, details: `${name} exists` });
  client.close();
}

interface Catalog {
  createVolume(
    request: object,
    callback: (error: Error | null, volume: Record<string, unknown>) => void,
  ): void;
  close(): void;
}

async function callTool(origin: string): Promise<void> {
  await using client = await openModern(`${origin}/mcp`);
  const { structuredContent } = await client.call("create_volume", {
    parent: "shelves/model",
    volume: { id, title: "é" },
  });
  equal((structuredContent as { id: string }).id, id);
}

/** A page of another origin than the command's. */
async function openPage() {
  await using build = await rolldown({ input: join(source, "browser.ts"), platform: "browser" });
  const { output } = await build.generate({ format: "esm" });
  const page = `<!doctype html><body><script type="module">${output[0].code}</script>`;
  const server = http.createServer((_request, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(page);
  });
  const { url } = await listen(server);
  return {
    url,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function callInBrowser(page: string, at: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    const tab = await browser.newPage();
    await tab.goto(`${page}/?at=${encodeURIComponent(at)}`);
    const heard = tab.getByText(id);
    await heard.waitFor();
    const missing = "ConnectError: [not_found] shelves/browser/volumes/1 is not here";
    const one = `${id} é|${missing}`;
    equal(await heard.textContent(), `${one}\n${one}\nas text`);
  } finally {
    await browser.close();
  }
}
