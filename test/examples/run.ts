/**
 * Sets up and runs each example as its README says, where its toolchain and the registry of its
 * packages are to be had. The first answer is withheld until the caller gives up, the second one's
 * connection is cut; each time, the plant is stored.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { createTally } from "../../packages/gateway/test/support/tally.ts";
import { fetchTool, runTool, Unavailable } from "../../packages/gateway/test/support/tool.ts";
import { spawnServer } from "../support/child-server.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";
import { openLossyProxy } from "./lossy-proxy.ts";

const rpc = `created: Basil (herb)
again: Basil (herb)
taken: another plant has this id (choose another id or repeat its name and tag)
refused: plant.name is required
`;

const rest = `created: {"name":"Basil","tag":"herb"}
again: {"name":"Basil","tag":"herb"}
taken: {"error":6,"message":"another plant has this id (choose another id or repeat its name and tag)"}
refused: {"error":3,"message":"name is required"}
`;

/** In place of the line of its README: the same `fetch`, but no page and no proxy before it. */
const pageInNode = `node --input-type=module --eval '
  import { showCalls } from "./create-plant.ts";
  const { PLANT_STORE_URL: baseUrl, PLANT_STORE_TOKEN: token } = process.env;
  await showCalls({ baseUrl, token }, { print: console.log, note: console.error });'`;

const python = "python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))'";

type Example = Readonly<{ name: string; toolchain: string; prints: string; run?: string }>;

/** By folder: a line that succeeds where the toolchain is, and what it has to print. */
const examples: readonly Example[] = [
  { name: "curl", toolchain: "bash --version && curl --version", prints: rest },
  { name: "typescript-node", toolchain: "npm --version", prints: rpc },
  { name: "typescript-browser", toolchain: "npm --version", prints: rpc, run: pageInNode },
  { name: "python", toolchain: python, prints: rpc },
  { name: "go", toolchain: "go version", prints: rpc },
  { name: "java", toolchain: "mvn -version && javac --release 17 -version", prints: rpc },
  { name: "rust", toolchain: "cargo version", prints: rpc },
];

/** What every example asks to be stored; each prints it and the refusals of two others. */
const basil = { id: 9007199254740993n, name: "Basil", tag: "herb" };

/** How package clients and resolvers say that nobody answered. */
const networkIsMissing = new RegExp(
  "(could ?n[o']t|failed to).*(resolve|connect)|name resolution|no such host|unknown host|" +
    "ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|network is unreachable|" +
    "connection refused|connect(ion)? timed out|i/o timeout",
  "i",
);

const wanted = process.argv.slice(2);
using tally = createTally("examples");
for (const example of examples) {
  if (wanted.length > 0 && !wanted.includes(example.name)) continue;
  await tally.add(example.name, () => tryExample(example));
}

async function tryExample({ name, toolchain, prints, run }: Example): Promise<void> {
  const cwd = resolve(import.meta.dirname, "../../examples", name);
  await fetchTool(cwd, ["sh", "-c", toolchain]);
  const readme = commandsOf(await readFile(join(cwd, "README.md"), "utf8"));
  await runTool(cwd, ["sh", "-c", readme.setUp]).catch((error: Error) => {
    throw networkIsMissing.test(error.message) ? new Unavailable(error.message) : error;
  });
  await using server = await spawnServer();
  await using proxy = await openLossyProxy(server.port, ["hold", "cut"]);
  const env = { PLANT_STORE_URL: proxy.url, PLANT_STORE_TOKEN: knownToken };
  const stdout = await runTool(cwd, ["sh", "-c", run ?? readme.run], env);
  // Maven resets colours that it did not set.
  assert.equal(stripVTControlCharacters(stdout), prints);
  assert.deepEqual(proxy.fatesLeft, []);
  assert.deepEqual(readStoredPlants(server.database), [storedForm(basil)]);
}

/** The commands of an example: the two lines of the first block in its README. */
function commandsOf(readme: string) {
  const [, block = ""] = /```sh\n(.*?)```/s.exec(readme) ?? [];
  const [setUp, run, ...more] = block.replaceAll("\\\n", "").trim().split("\n");
  if (setUp === undefined || run === undefined || more.length > 0) {
    throw new Error("the first block of the README is not a line to set up and a line to run");
  }
  return { setUp, run };
}
