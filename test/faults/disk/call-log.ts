/** The calls recorded by the shim (shim.c). */

/** In the order of the shim's enum. */
const kinds = [
  ...(["start", "open", "write", "sync", "truncate", "unlink"] as const),
  ...(["mkdir", "close", "map", "rename"] as const),
] as const;

/** One call of a recorded process. */
export interface Call {
  readonly kind: (typeof kinds)[number];
  /** Absolute; empty for `start`, the first record of every process. */
  readonly path: string;
  /** The result of the call, or -errno. */
  readonly result: number;
  /** The offset of a write, the new size of a truncate, the flags of an open. */
  readonly number: number;
  /** The bytes of a write. */
  readonly data: Buffer;
}

const headerBytes = 32;

/** The last record is incomplete if its process was killed in the middle of it. */
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

/** The file in its root where a recorded process appends the ids of acknowledged plants. */
export const acknowledgedName = "acknowledged";

/** The numbers of the plants that a call acknowledged. */
export function acknowledgedBy({ kind, path, data }: Call): readonly number[] {
  if (kind !== "write" || !path.endsWith(`/${acknowledgedName}`)) return [];
  return data.toString().split("\n").slice(0, -1).map(Number);
}

/** Whether the shim numbers the call. It can make these calls fail, or kill the process at them. */
export function isNumbered({ kind, path }: Call): boolean {
  return !["start", "close", "rename"].includes(kind) && !path.endsWith(`/${acknowledgedName}`);
}
