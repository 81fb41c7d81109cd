/** Makes all generated code anew, or the same in another folder: `node scripts/generate.ts [FOLDER]`. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

const [folder = "."] = process.argv.slice(2);

/** The contract and, with what both import, the messages that its errors carry. */
const described = [
  "proto/plantstore",
  "node_modules/google-proto-files/google/rpc/error_details.proto",
  "node_modules/google-proto-files/google/rpc/status.proto",
];

const gateway = "packages/gateway";

buf("generate", "--clean", "--output", folder);
buf(...["generate", "--clean", "--output", folder], ...["--template", `${gateway}/buf.gen.yaml`]);
buf(
  ...["generate", "--clean", "--output", folder],
  ...["--config", `${gateway}/test/buf.workspace.yaml`],
  ...["--template", `${gateway}/test/buf.gen.yaml`],
);
buf(
  ...["build", "--as-file-descriptor-set", "--output", join(folder, "gen/plantstore.binpb")],
  ...described.flatMap((path) => ["--path", path]),
);

function buf(...args: readonly string[]): void {
  execFileSync("buf", args, { stdio: "inherit" });
}
