/**
 * A process that generates load: takes the load as JSON in its argument, prints the result as JSON.
 */
import type { Load } from "./load.ts";
import { runLoad } from "./run-load.ts";

const load: Load = JSON.parse(process.argv[2] ?? "");
process.stdout.write(JSON.stringify(await runLoad(load)));
