/**
 * Runs gRPC's interop tests with grpc-go: `npm run test:interop`. Its client, its server and the
 * descriptors of the service come with the module that go.mod names. Without Go, the run is skipped.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { createTally } from "../../../gateway/test/support/tally.ts";
import { createTemporaryFolder } from "../../../gateway/test/support/temporary-folder.ts";
import { fetchTool, runTool, Unavailable } from "../../../gateway/test/support/tool.ts";

const root = join(import.meta.dirname, "../../../..");
const own = "packages/proxy/test/interop";
const folder = import.meta.dirname;

using tally = createTally("interop");
await tally.add("the programs of grpc-go", async () => {
  if (spawnSync("go", ["version"]).error !== undefined) throw new Unavailable("no Go");
  await fetchTool(folder, ["go", "mod", "download"]);
  const tool = async (name: string) =>
    (await runTool(folder, ["go", "tool", "-n", `google.golang.org/grpc/interop/${name}`])).trim();
  const server = await tool("server");
  const client = await tool("client");
  const module = ["go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/grpc"] as const;
  const caFile = join((await runTool(folder, module)).trim(), "testdata/ca.pem");
  await generateCode();
  const { runInterop } = await import("./suite.ts");
  await runInterop({ server, client, caFile }, tally.add);
});

/** From the descriptors, and checks the types. */
async function generateCode(): Promise<void> {
  await using temporary = await createTemporaryFolder();
  const image = join(temporary.path, "testing.binpb");
  await runTool(folder, ["go", "run", "./descriptors", image]);
  const template = ["--clean", "--template", `${own}/buf.gen.yaml`];
  await runTool(root, ["buf", "generate", image, ...template]);
  await runTool(root, ["tsc", "--project", own]);
}
