import { once } from "node:events";
import { type FileHandle, open, rm, stat } from "node:fs/promises";
import type { Rejection } from "../transfer/plant-import.ts";
import { CommandFailure, cannot } from "./command-failure.ts";

/** Where the rows of an import go that were rejected: NDJSON, `{"line", "reason"}`. */
export class Rejects implements AsyncDisposable {
  /** For people. */
  readonly place: string;
  readonly #file: string | undefined;
  readonly #beforeWrite: () => void;
  #handle: FileHandle | undefined;
  /** Rejections come from many calls at once, and are written one after the other. */
  #last: Promise<void> = Promise.resolve();

  /**
   * The file is made anew by each import, and is there if a row was rejected.
   *
   * @param beforeWrite Called before a line goes to standard error.
   * @throws {CommandFailure}
   */
  static async open(
    source: string,
    target: string | undefined,
    beforeWrite: () => void,
  ): Promise<Rejects> {
    const file = target ?? (source === "-" ? undefined : `${source}.rejects.ndjson`);
    if (file !== undefined) await removeOld(file, source);
    return new Rejects(file, beforeWrite);
  }

  private constructor(file: string | undefined, beforeWrite: () => void) {
    this.place = file ?? "above";
    this.#file = file;
    this.#beforeWrite = beforeWrite;
  }

  write({ line, reason }: Rejection): Promise<void> {
    this.#last = this.#last.then(() => this.#append(`${JSON.stringify({ line, reason })}\n`));
    return this.#last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }

  async #append(text: string): Promise<void> {
    if (this.#file === undefined) {
      this.#beforeWrite();
      if (!process.stderr.write(text)) await once(process.stderr, "drain");
      return;
    }
    try {
      this.#handle ??= await open(this.#file, "w", 0o600);
      await this.#handle.appendFile(text);
    } catch (error) {
      throw cannot("write rejected rows to", this.#file, error);
    }
  }
}

async function removeOld(file: string, source: string): Promise<void> {
  const old = await stat(file).catch(() => undefined);
  if (old?.isFile() !== true) return;
  const read = source === "-" ? undefined : await stat(source).catch(() => undefined);
  if (read?.dev === old.dev && read.ino === old.ino) {
    throw new CommandFailure(2, "--rejects names the file that is imported");
  }
  await rm(file).catch((error: unknown) => {
    throw cannot("replace", file, error);
  });
}
