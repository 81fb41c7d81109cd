/**
 * The domain: what a plant is, which plants are valid, and what the store
 * promises. Everything else in this project serves, guards or keeps these.
 */

/** A plant that a client asks for. */
export interface NewPlant {
  /** Any int64, 0 and negatives too. */
  readonly id: bigint;
  readonly name: string;
  /** `""` is a tag; `undefined` is none. */
  readonly tag: string | undefined;
}

/** A plant as the store answers it. */
export type Plant = Omit<NewPlant, "id">;

export type TextField = keyof Plant;

/** Each of them once: tsc asks for a field that was added. */
const texts: Readonly<Record<TextField, true>> = { name: true, tag: true };

/** Every field but the id, in the order in which tables and files have them. */
export const textFields = Object.keys(texts) as readonly TextField[];

/** Whether two plants with one id are the same plant. */
export function isSamePlant(one: Plant, other: Plant): boolean {
  return textFields.every((field) => one[field] === other[field]);
}

/** What a store answers for a plant. */
export function withoutId({ id: _id, ...plant }: NewPlant): Plant {
  return plant;
}

/** What is left of a plant when every field was taken from it: tsc refuses one that is left. */
export type NothingLeft = Readonly<Record<PropertyKey, never>>;

/** Why a plant was not created. */
export type PlantErrorCode =
  /** A field holds a value that no plant may have; `field` names it. */
  | "invalid"
  /** Another plant, with another name or tag, has this id. */
  | "id_taken"
  /** The store has as much work as it may hold; nothing was written. */
  | "overloaded"
  /** The store cannot write, or cannot tell whether it did. Trying again is safe. */
  | "unavailable";

/** A plant was not created. The message is safe to show to any client. */
export class PlantError extends Error {
  override readonly name = "PlantError";
  readonly code: PlantErrorCode;
  /** The field of NewPlant at fault, for `invalid` and `id_taken`. */
  readonly field: keyof NewPlant | undefined;

  constructor(
    code: PlantErrorCode,
    message: string,
    options: { field?: keyof NewPlant; cause?: unknown } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.field = options.field;
  }
}

/** What keeps a store from taking plants. */
export const obstacles = [
  /** It was closed, or is about to be. */
  "closed",
  /** It has failed for good, and must be opened anew. */
  "failed",
  /** There is no connection to the database. */
  "unreachable",
  /** There is no space left for the database. */
  "disk_full",
  /** Somebody else holds the database or its table locked. */
  "locked",
  /** The database denies a right that a create needs. */
  "forbidden",
  /** The database takes no writes from anybody. */
  "read_only",
  /** The database no longer promises that what it commits survives a crash. */
  "not_durable",
  /** The database is not as it was opened: its table, or its encoding. */
  "damaged",
  /** Writes fail for a reason that has no name here. */
  "unwritable",
] as const;

export type Obstacle = (typeof obstacles)[number];

/** What a store with too much work says. */
export function overloaded(): PlantError {
  return new PlantError("overloaded", "the store has too much work waiting; try again later");
}

/** As much of an `AbortSignal` as it takes to give up waiting. */
export interface Cancellation extends Pick<AbortSignal, "aborted" | "reason"> {
  addEventListener(type: "abort", listener: AbortListener): void;
  removeEventListener(type: "abort", listener: AbortListener): void;
}

/** An object, so that who waits can listen itself, without a function for each call. */
export interface AbortListener {
  handleEvent(): void;
}

/**
 * A place that keeps plants: one port, an engine behind it.
 *
 * **Durability.** `create` resolves only after the plant is on stable storage:
 * no crash of the process or the machine, at any moment after that, loses or
 * changes it. Reports of success are never early, and never wrong.
 *
 * **Create once.** An id belongs to the first plant created under it, for ever.
 * Creating an equal plant (same id, name and tag) again succeeds, however often
 * and however concurrently; creating a different one fails with `id_taken` and
 * leaves the first untouched. Of several different plants that race for one id,
 * exactly one wins.
 *
 * **Exactness.** id, name and tag are kept bit for bit: no rounding, no
 * normalisation, no trimming; no tag and an empty tag are two things.
 *
 * **Failure.** A `create` that fails with `invalid`, `id_taken` or `overloaded`
 * wrote nothing. One that fails with `unavailable`, or with the reason of its
 * signal, may have written the plant or not; the same call again tells.
 *
 * **Concurrency.** Any number of calls at once. Calls share commits, but each
 * has its own result: one that fails does not fail its neighbours.
 */
export interface PlantStore {
  /**
   * Creates a plant that {@link assertValidPlant} accepts.
   *
   * @param signal Gives up waiting when it aborts; rejects with its reason.
   * @throws {PlantError} `id_taken`, `overloaded` or `unavailable`.
   */
  create(plant: NewPlant, signal?: Cancellation): Promise<Plant>;

  /** Whether any `create` would fail with `overloaded` now: so much is waiting. */
  isFull(): boolean;

  /**
   * What keeps any `create` from success now, as far as is known; undefined when
   * nothing does. A store that meets an obstacle finds out by itself when it is gone.
   */
  obstacle(): Obstacle | undefined;

  /**
   * Finishes the creates under way, then releases every resource. Creates that
   * come later fail with `unavailable`. Calling it again waits for the first.
   */
  close(): Promise<void>;
}

export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

/**
 * @throws {PlantError} `invalid`, naming the field, for a plant that cannot be
 * kept exactly: an id outside int64, or text with a lone surrogate (not
 * Unicode) or with U+0000 (which PostgreSQL cannot store).
 */
export function assertValidPlant(plant: NewPlant): void {
  if (plant.id < int64Min || plant.id > int64Max) {
    throw new PlantError("invalid", "id must be a 64-bit integer", { field: "id" });
  }
  for (const field of textFields) {
    const text = plant[field];
    if (text !== undefined) assertValidText(field, text);
  }
}

function assertValidText(field: TextField, text: string): void {
  if (!text.isWellFormed()) {
    throw new PlantError("invalid", `${field} must not contain a lone surrogate`, { field });
  }
  if (text.includes("\0")) {
    throw new PlantError("invalid", `${field} must not contain U+0000`, { field });
  }
}
