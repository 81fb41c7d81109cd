import { once } from "node:events";
import { rm } from "node:fs/promises";
import { CommandFailure, cannot } from "connect-gateway-kit/command";
import { realPath } from "../store/sqlite/files.ts";
import { writeRejection } from "../transfer/ndjson.ts";
import type { Rejection } from "../transfer/plant-import.ts";
import { assertMayWrite, type OutputFile, openOutputFile, statsOf } from "./output-file.ts";

const kind = "a file of plants";

/** Writes the rejected rows of an import as NDJSON, which `import` reads after you fix it. */
export class Rejects {
  /** The name of the destination, for messages. */
  readonly place: string;
  readonly #file: string | undefined;
  readonly #force: boolean;
  readonly #beforeWrite: () => void;
  #output: OutputFile | undefined;
  /** Rejections come from concurrent calls and are written one at a time. */
  #last: Promise<void> = Promise.resolve();

  /** @param beforeWrite Called before a line goes to standard error. @throws {CommandFailure} */
  static async open(
    source: string,
    { rejects, force }: { readonly rejects?: string; readonly force: boolean },
    beforeWrite: () => void,
  ): Promise<Rejects> {
    const file = rejects ?? (source === "-" ? undefined : `${source}.rejects.ndjson`);
    if (file !== undefined) assertMayReplace(file, source, force);
    return new Rejects(file, force, beforeWrite);
  }

  private constructor(file: string | undefined, force: boolean, beforeWrite: () => void) {
    this.place = file ?? "above";
    this.#file = file;
    this.#force = force;
    this.#beforeWrite = beforeWrite;
  }

  write({ line, reason, row }: Rejection): Promise<void> {
    this.#last = this.#last.then(() => this.#append(writeRejection(line, reason, row)));
    return this.#last;
  }

  async close(): Promise<void> {
    await using output = this.#output;
    await output?.commit();
  }

  /** Call when every row is stored: rows that an earlier import rejected are no longer of use. */
  async removeOld(): Promise<void> {
    const path = this.#file;
    if (path === undefined || !this.#force || this.#output !== undefined) return;
    assertMayWrite({ path, kind, force: true });
    if (statsOf(path)?.isFile() === true) await rm(realPath(path));
  }

  async #append(text: string): Promise<void> {
    const path = this.#file;
    if (path === undefined) {
      this.#beforeWrite();
      if (!process.stderr.write(text)) await once(process.stderr, "drain");
      return;
    }
    try {
      this.#output ??= await openOutputFile({ path, kind, force: this.#force });
      await this.#output.write(Buffer.from(text));
    } catch (error) {
      throw cannot("write rejected rows to", path, error);
    }
  }
}

function assertMayReplace(path: string, source: string, force: boolean): void {
  const [old, read] = [path, source].map(statsOf);
  if (old !== undefined && old.dev === read?.dev && old.ino === read.ino) {
    throw new CommandFailure(2, "--rejects names the file that is imported");
  }
  assertMayWrite({ path, kind, force });
}
