/**
 * Decodes messages. It counts what they become, because a few bytes can become much. And it takes turns,
 * because a message is decoded in one piece: meanwhile, nobody else is served. A caller whose messages
 * took long waits until others had as long.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { soon } from "../http/body.ts";
import { clientLeft, type Holding, isWorkers, keysOf } from "../http/body-budget.ts";
import { FieldViolation } from "./violation.ts";

/** 10,000 messages of 10 fields. It takes about 50 ms, and 16 MiB. */
export const readMaxValuesDefault: number = 256 * 1024;

export const valueBytes = 64;

/** A message of so few bytes cannot become much. */
export const smallBytes = 4096;

/** The message that is being decoded: always one, because decoding is synchronous. */
const current = { values: 0, max: Number.POSITIVE_INFINITY };

/**
 * Counts values of the message that is being decoded: each of JSON, and each field of protobuf. What
 * takes more memory or time counts as several. @returns all. @throws {FieldViolation} above the max.
 */
export function countValues(values: number): number {
  current.values += values;
  if (current.values <= current.max) return current.values;
  throw new FieldViolation("", `has more than ${current.max} values`);
}

/** The same function, which makes each value once, and keeps it for as long as its key. */
export function memoized<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>();
  return (key) => {
    let value = known.get(key);
    if (value === undefined) {
      value = make(key);
      known.set(key, value);
    }
    return value;
  };
}

/** Those of an empty message: it has a property for each field without presence. */
export const messageValues: (desc: DescMessage) => number = memoized(
  ({ fields, oneofs }) => 2 + fields.filter(isImplicit).length + oneofs.length,
);

const isImplicit = ({ presence }: DescField) => presence === FeatureSet_FieldPresence.IMPLICIT;

/** Those that an entry of a map has besides its value. */
export const entryValues = 4;

/** An object in JSON with more members is a hash table, and each has so many besides its value. */
export const smallObjectMax = 32;
export const memberValues = 3;

/** Those of a Timestamp and the like in JSON: their text is read by a regular expression. */
export const textValues = 16;

/** Of the paths of a FieldMask, whose JSON has other names: each character is looked at. */
export const valuesPerMaskByte = 2;

/** Those that a value within a Struct, Value or ListValue has besides itself. */
export const dynamicValues = 3;

/** About 10 ms on a common core. Further ones wait for the next turn of the event loop. */
const valuesPerTurn = 16_384;

/** About as many are decoded in a millisecond. */
const valuesPerMs = 4096;

const pauseMsMin = 4;

/** So few are neither counted as memory nor as time: 64 KiB, and less than a millisecond. */
const fewValues = 1024;

/** How a message is decoded, once its bytes are there. */
export interface Decoding<T> {
  readonly parse: (bytes: Uint8Array) => T;
  readonly readMaxValues: number;
}

/**
 * Decodes a message once it is its turn, and there is room for what it becomes.
 * @param holding Counts what it becomes; undefined for no limit.
 * @param tell Called with the number of bytes that it counts.
 * @throws {FieldViolation} above `readMaxValues`; as `Holding.add`; what `parse` throws.
 */
export function decode<T>(
  bytes: Uint8Array,
  decoding: Decoding<T>,
  holding: Holding | undefined,
  tell?: (held: number) => void,
): T | Promise<T> {
  const isFree = spent <= valuesPerTurn && waiting === 0;
  const turn = isFree ? undefined : waitForTurn(holding, bytes.length <= smallBytes);
  if (turn === undefined) return decodeNow(bytes, decoding, holding, tell);
  return turn.then(() => {
    if (holding?.isReleased) throw clientLeft();
    return decodeNow(bytes, decoding, holding, tell);
  });
}

function decodeNow<T>(
  bytes: Uint8Array,
  { parse, readMaxValues }: Decoding<T>,
  holding: Holding | undefined,
  tell: ((held: number) => void) | undefined,
): T | Promise<T> {
  let message: T;
  current.values = 0;
  current.max = readMaxValues;
  try {
    message = parse(bytes);
  } finally {
    current.max = Number.POSITIVE_INFINITY;
    if (current.values > fewValues && !isWorkers) {
      const caller = callerOf(holding);
      if (!callers.has(caller)) callers.set(caller, []);
      spent += Math.min(current.values, readMaxValues); // more is refused, not read
      schedule();
    }
  }
  const { values } = current;
  if (values <= fewValues || holding === undefined) return message;
  const room = holding.add(values * valueBytes);
  tell?.(values * valueBytes);
  return room === undefined ? message : room.then(() => message);
}

/** Tokens tell callers apart who share an address. */
function callerOf(holding: Holding | undefined): string {
  return (holding && keysOf(holding.caller).at(-1)) ?? "";
}

interface Waiter {
  readonly holding: Holding | undefined;
  readonly resolve: () => void;
}

/** Those that decoded much in this turn, and what they wait for. The first one is next. */
const callers = new Map<string, Waiter[]>();
let spent = 0;
let waiting = 0;
let isScheduled = false;

/** @param isSmall Whether it waits only behind others of its caller. */
function waitForTurn(holding: Holding | undefined, isSmall: boolean): Promise<void> | undefined {
  const caller = callerOf(holding);
  if (isSmall && !callers.has(caller)) return undefined;
  const queue = callers.get(caller) ?? [];
  callers.set(caller, queue);
  waiting++;
  return new Promise((resolve) => queue.push({ holding, resolve }));
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  soon(() => {
    const pauseMs = spent / valuesPerMs;
    if (pauseMs < pauseMsMin) begin();
    else setTimeout(begin, pauseMs);
  });
}

function begin(): void {
  isScheduled = false;
  spent = 0;
  let next: Waiter | undefined;
  for (const [caller, queue] of [...callers]) {
    // Who has left must not keep bytes that no longer count.
    const rest = queue.filter(({ holding }) => !holding?.isReleased);
    for (const one of queue.filter(({ holding }) => holding?.isReleased)) resume(one);
    callers.set(caller, rest);
    if (next !== undefined) continue;
    callers.delete(caller);
    next = rest.shift();
    if (rest.length > 0) callers.set(caller, rest); // now the last one
  }
  if (next === undefined) return;
  resume(next);
  schedule();
}

function resume({ resolve }: Waiter): void {
  waiting--;
  resolve();
}
