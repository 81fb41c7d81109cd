/**
 * Sets up and runs each example, where its toolchain and the registry of its
 * packages are to be had. The first answer is withheld until the caller gives up,
 * the second one's connection is cut; each time, the plant is stored.
 */
import { type Example, tryExample, type Verdict } from "./trial.ts";

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

/** The module of the page, in Node: the same `fetch`, but no page and no proxy before it. */
const pageInNode = `node --input-type=module --eval '
  import { showCalls } from "./create-plant.ts";
  const { PLANT_STORE_URL: baseUrl, PLANT_STORE_TOKEN: token } = process.env;
  await showCalls({ baseUrl, token }, { print: console.log, note: console.error });'`;

const python = "python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))'";

const examples: readonly Example[] = [
  { name: "curl", toolchain: "bash --version && curl --version", prints: rest },
  { name: "typescript-node", toolchain: "npm --version", prints: rpc },
  { name: "typescript-browser", toolchain: "npm --version", prints: rpc, run: pageInNode },
  { name: "python", toolchain: python, prints: rpc },
  { name: "go", toolchain: "go version", prints: rpc },
  { name: "java", toolchain: "mvn -version && javac --release 17 -version", prints: rpc },
  { name: "rust", toolchain: "cargo version", prints: rpc },
];

const wanted = process.argv.slice(2);
const count: Record<Verdict["kind"], number> = { passed: 0, failed: 0, skipped: 0 };
for (const example of examples) {
  if (wanted.length > 0 && !wanted.includes(example.name)) continue;
  const verdict = await tryExample(example);
  count[verdict.kind]++;
  const reason = verdict.kind === "passed" ? "" : ` (${verdict.reason})`;
  process.stdout.write(`${example.name}: ${verdict.kind}${reason}\n`);
}
const { passed, failed, skipped } = count;
process.stdout.write(`\nexamples: ${passed} passed, ${failed} failed, ${skipped} skipped\n`);
if (failed > 0) process.exitCode = 1;
