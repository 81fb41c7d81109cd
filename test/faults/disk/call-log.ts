/** What the shim (shim.c) has recorded. */

/** In the order of the shim's enum. */
const kinds = [
  "start",
  "open",
  "write",
  "sync",
  "truncate",
  "unlink",
  "mkdir",
  "close",
  "map",
  "rename",
] as const;

/** One call of a recorded process. */
export interface Call {
  readonly kind: (typeof kinds)[number];
  /** Absolute; empty for `start`, which every process begins with. */
  readonly path: string;
  /** That of the call, or -errno. */
  readonly result: number;
  /** Of a write its offset, of a truncate the new size, of an open its flags. */
  readonly number: number;
  /** What a write has written. */
  readonly data: Buffer;
}

const headerBytes = 32;

/** The last record is cut short where its process was killed in the middle of it. */
export function parseCallLog(log: Buffer): readonly Call[] {
  const calls: Call[] = [];
  for (let at = 0; at + headerBytes <= log.byteLength; ) {
    const kind = kinds[log.readUInt32LE(at)];
    if (kind === undefined) throw new Error(`the call log has no record at ${at}`);
    const pathAt = at + headerBytes;
    const dataAt = pathAt + log.readUInt32LE(at + 24);
    const next = dataAt + log.readUInt32LE(at + 28);
    if (next > log.byteLength) break;
    calls.push({
      kind,
      path: log.toString("utf8", pathAt, dataAt),
      result: Number(log.readBigInt64LE(at + 8)),
      number: Number(log.readBigInt64LE(at + 16)),
      data: log.subarray(dataAt, next),
    });
    at = next;
  }
  return calls;
}

/** The file that a recorded process appends the ids of acknowledged plants to, in its root. */
export const acknowledgedName = "acknowledged";

/** Whether the shim numbers the call: those that it can fail, or kill the process at. */
export function isNumbered({ kind, path }: Call, root: string): boolean {
  return (
    kind !== "start" &&
    kind !== "close" &&
    kind !== "rename" &&
    path !== `${root}/${acknowledgedName}`
  );
}
