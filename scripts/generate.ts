/** Generates all code, in place or in another directory: `node scripts/generate.ts [FOLDER]`. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder = "."] = process.argv.slice(2);

/** The contract and the messages in its errors, with everything that both import. */
const described = [
  "proto/plantstore",
  "node_modules/google-proto-files/google/rpc/error_details.proto",
  "node_modules/google-proto-files/google/rpc/status.proto",
];

const gateway = "packages/gateway";

buf("generate", "--clean", "--output", folder);
// The gateway has the code of Google's protos.
const plants = join(folder, "gen/plantstore/v1/plant_service_pb.ts");
const code = readFileSync(plants, "utf8");
writeFileSync(plants, code.replaceAll(/"[./]+\/google\/[^"]+"/g, '"connect-gateway/protos"'));
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
