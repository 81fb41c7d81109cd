import { join } from "node:path";
import { fetchTool } from "./tool.ts";

/**
 * A Python environment with a list of requirements.
 *
 * @returns the directory of its programs.
 * @throws {Unavailable}
 */
export async function createVenv(folder: string, requirements: string): Promise<string> {
  const venv = join(folder, "venv");
  await fetchTool(folder, ["python3", "-m", "venv", venv]);
  const pip = join(venv, "bin/pip");
  await fetchTool(folder, [pip, "install", "--quiet", "--requirement", requirements]);
  return join(venv, "bin");
}
