/** The C and C++ libraries of Debian's stable release, for a machine that runs an older one. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const packages = ["libc6", "libgcc-s1", "libstdc++6"];

/**
 * Downloads them from the mirror of the machine's own packages. Installs nothing.
 *
 * @param folder Where to unpack them.
 * @returns the folder that they are in.
 * @throws if this machine does not run Debian, or cannot reach the mirror.
 */
export function downloadLibraries(folder: string): string {
  const [, codename = ""] =
    /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync("/etc/os-release", "utf8")) ?? [];
  const filters = ["Identifier: Packages", "Component: main", `Release: ${codename}`];
  const mirror = execFileSync("apt-get", [
    ...["indextargets", "--format", "$(REPO_URI)", ...filters],
  ]);
  const sources = join(folder, "sources.list");
  writeFileSync(sources, `deb ${mirror.toString().split("\n", 1)[0]} stable main\n`);

  for (const name of ["lists/partial", "cache/archives/partial"]) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  const options = [
    ...[`Dir::Etc::SourceList=${sources}`, "Dir::Etc::SourceParts=/dev/null"],
    ...[`Dir::State::Lists=${folder}/lists`, `Dir::Cache=${folder}/cache`],
    // As root, apt would download as the user _apt, who cannot enter the folder.
    "APT::Sandbox::User=root",
  ].flatMap((option) => ["-o", option]);
  run(folder, "apt-get", ["-qq", ...options, "update"]);
  run(folder, "apt-get", ["-qq", ...options, "download", ...packages]);
  run(folder, "sh", ["-c", "for package in *.deb; do dpkg-deb -x $package root; done"]);
  return join(folder, "root/usr/lib/x86_64-linux-gnu");
}

function run(cwd: string, command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}
