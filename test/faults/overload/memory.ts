/** A caller whose bodies take memory, beside others, in a small heap: alone and through a proxy. */
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { createRun, type Run } from "../campaign.ts";
import { hoard, hoards, smallServer } from "../hostile/floods/hoards.ts";
import { openWitness } from "../hostile/witness.ts";
import { createRandom } from "../random.ts";
import { startProxy, startServer, watchMemory } from "../server.ts";

const connectionCounts = [4, 100];
const hoardMs = 4000;

export async function memory(part: Run): Promise<void> {
  await using folder = await createTemporaryFolder();
  await using server = await startServer({ cwd: folder.path, env: smallServer });
  await using proxy = await startProxy(server.url, { cwd: folder.path, env: smallServer });
  const targets = { alone: server, "behind the command": proxy };
  const cases = connectionCounts.flatMap((connections) =>
    hoards.flatMap((one) =>
      Object.entries(targets).map(([name, target]) => ({ connections, one, name, target })),
    ),
  );
  // Time for one at least, from now on.
  const run = createRun({ ...part, minutes: Math.max(part.minutes, hoardMs / 60_000) }, part);
  // Another part of them in each short run.
  const shuffled = createRandom(run.seed, "memory").shuffle(cases);
  for (const { connections, one, name, target } of shuffled) {
    if (run.isOver() || run.found.length > 0) break;
    const what = `memory: ${connections} connections, ${one.what}, ${name}`;
    using watch = watchMemory(target);
    await using witness = openWitness({ url: target.url, seed: run.seed });
    const sent = await hoard(one, { url: target.url, connections, ms: hoardMs });
    const requests = await witness.finish();
    // Errors are answers, too: the ids of an earlier witness are taken.
    const unserved = requests.flatMap(({ outcome }) =>
      outcome.kind === "unknown" ? [outcome.why] : [],
    );
    run.log(`${what}: ${sent} sent, ${watch.peakMiB} MiB resident, others: ${requests.length}`);
    run.find(what, watch.problems);
    if (unserved.length > 0) {
      const why = [...new Set(unserved)].join(", ");
      run.find(what, [`${unserved.length} of ${requests.length} requests of others: ${why}`]);
    }
    run.count("bodies that take memory", sent);
  }
}
