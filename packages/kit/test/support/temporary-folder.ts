import { onTestFinished } from "vitest";
import { createTemporaryFolder } from "../../../gateway/test/support/temporary-folder.ts";

/** A new directory, removed at the end of the test. */
export async function temporaryFolder(parent?: string): Promise<string> {
  const folder = await createTemporaryFolder(parent);
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder.path;
}
