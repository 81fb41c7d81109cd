import { join } from "node:path";
import { type ServerProcess, startServer } from "../runtimes/server-process.ts";

/** The catalog as a separate process, empty, on a free port. */
export function startCatalog(cwd: string): Promise<ServerProcess> {
  const program = join(import.meta.dirname, "../catalog-server.ts");
  return startServer([process.execPath, program, "0"], cwd);
}
