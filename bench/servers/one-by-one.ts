/** plant-store without coalescing: each request is its own statement and commit. */
import { serve } from "../../src/server/serve.ts";
import { resolveSettings } from "../../src/server/settings.ts";
import { openProgram } from "../../src/server/start.ts";
import { openStore } from "../../test/support/open-store.ts";
import { token } from "../requests.ts";
import { announceUrl } from "./announce.ts";

const settings = resolveSettings({ port: 0, auth: { tokenFile: undefined, tokens: [token] } });
const program = await openProgram(settings);
const store = await openStore(process.argv[2] ?? "", { limits: { batchRowsMax: 1 } });
program.defer(() => store.close());
announceUrl(`http://127.0.0.1:${await serve(program, settings, store)}`);
process.once("SIGTERM", () => void program.close());
