/**
 * Creates plants at full speed until it is killed: `node kill-child.ts URL ROUND`. Prints
 * `opening`, then the id of each confirmed plant. Writes to a pipe are synchronous, so that a kill
 * loses no printed line.
 */
import { openStore } from "../../src/store/open.ts";
import { plantOf } from "./plant-of.ts";

const [url = "", round = "0"] = process.argv.slice(2);
let next = BigInt(round) * 1_000_000n;

process.stdout.write("opening\n");
const store = await openStore(url);
await Promise.all(
  Array.from({ length: 200 }, async () => {
    for (;;) {
      const id = next++;
      await store.create(plantOf(id));
      process.stdout.write(`${id}\n`);
    }
  }),
);
