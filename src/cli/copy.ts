import { Command } from "commander";
import { CommandFailure } from "connect-gateway-kit/command/run";
import { SettingsError } from "connect-gateway-kit/settings";
import { findStoreProblem, parseStoreUrl } from "../server/store-url.ts";
import { copyPlants } from "../store/copy.ts";
import { describeStore, isSameStore } from "../store/open.ts";
import { count, createProgress } from "./progress.ts";

export function createCopyCommand(): Command {
  return new Command("copy")
    .description("Copy all plants of one store to another and verify each of them.")
    .requiredOption("--from <url>", "the store to read")
    .requiredOption("--to <url>", "the store to write; it is created if missing")
    .addHelpText("after", notes)
    .action(copy);
}

const notes = `
This copies the store as it is when the copy starts. Servers may keep using the source, but plants
that they create later are not copied. Stop them, run the same command again, and start them on the
target. The target may hold only plants of the source. Nothing is overwritten. To continue a copy
that was stopped, run it again. A password may also come from PGPASSWORD.
Exit codes: 0 copied and verified, 1 failed, 2 wrong usage.`;

async function copy({ from, to }: Readonly<Record<"from" | "to", string>>): Promise<void> {
  const problems = Object.entries({ from, to }).flatMap(([flag, url]) => {
    const problem = findStoreProblem(url);
    return problem === undefined ? [] : [{ setting: `--${flag}`, problem }];
  });
  if (problems.length > 0) throw new SettingsError(problems);
  const stores = { from: parseStoreUrl(from), to: parseStoreUrl(to) };
  const source = describeStore(stores.from);
  const target = describeStore(stores.to);
  if (isSameStore(stores.from, stores.to)) {
    throw new CommandFailure(2, `--from and --to are the same store: ${source}`);
  }
  using progress = createProgress();
  const { plants, heldBefore } = await copyPlants(stores, progress.update);
  progress.end();
  const before = heldBefore > 0 ? ` (${heldBefore} of them were there already)` : "";
  process.stdout.write(
    `copied ${count(plants, "plant")} from ${source} to ${target}${before}\n` +
      `verified: both hold the same ${count(plants, "plant")}; every field was compared\n`,
  );
}
