/** A process that loads a server: the load as JSON in its argument, the result as JSON on stdout. */
import type { Load } from "./load.ts";
import { runLoad } from "./run-load.ts";

const load: Load = JSON.parse(process.argv[2] ?? "");
process.stdout.write(JSON.stringify(await runLoad(load)));
