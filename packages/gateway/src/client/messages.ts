import { smallBytes } from "../codec/decode.ts";
import type { Holding } from "../http/body-budget.ts";

/** As much as Node needs for the two HTTP/2 streams of a call. Its answer may take long. */
const keptBytesMax = 16 * 1024;

export type Messages = ReturnType<typeof keepMessages>;

/** The requests of a stream. While those that were taken are kept, another attempt can begin with the first. */
export function keepMessages<M>(
  input: AsyncIterable<M>,
  serialize: (message: M) => Uint8Array,
  isOne: boolean,
  holding: Holding | undefined,
) {
  let bytes = 0;
  async function* serializeAll(): AsyncGenerator<Uint8Array, void> {
    for await (const message of input) {
      const body = serialize(message);
      await holdBody(body, holding);
      if (!isOne) bytes += body.length + 512; // objects around it
      yield body;
      if (isOne) return;
      if (body.length > smallBytes) holding?.give(body.length);
    }
  }
  const source = serializeAll();
  let taken: (Promise<IteratorResult<Uint8Array, void>> | undefined)[] = [];
  let at = 0;
  return {
    areKept: () => bytes <= keptBytesMax,
    /** Call it when there will be no other attempt. */
    forget() {
      bytes = Number.POSITIVE_INFINITY;
      taken.fill(undefined, 0, at + 1);
    },
    end: () => void source.return().catch(() => {}),
    /** Each attempt takes one after the other: one that takes a new one has those before. */
    take(index: number) {
      at = index;
      if (taken[index] !== undefined) return taken[index];
      const next = source.next();
      if (bytes > keptBytesMax) taken = [];
      else taken.push(next);
      return next;
    },
  };
}

/** Counts the bytes of a message beside those in which it came. @returns as `Holding.add`. */
export function holdBody(body: Uint8Array, holding?: Holding): Promise<void> | undefined {
  return body.length > smallBytes ? holding?.add(0, body.length) : undefined;
}
