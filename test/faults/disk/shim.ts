import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const source = fileURLToPath(new URL("./shim.c", import.meta.url));

/** The path of the shim, or why it is not available here. */
export type Shim = { readonly path: string } | { readonly skipped: string };

/** Compiles the shim into a directory. */
export async function compileShim(folder: string): Promise<Shim> {
  if (process.platform !== "linux") return { skipped: "calls are recorded on Linux alone" };
  const path = join(folder, "shim.so");
  const args = ["-shared", "-fPIC", "-O2", "-o", path, source, "-ldl", "-lpthread"];
  try {
    await promisify(execFile)("cc", args);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return { skipped: "there is no C compiler (cc)" };
    }
    throw error;
  }
  return { path };
}
