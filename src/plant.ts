/** The domain: what a plant is, which plants are valid, and what the store promises. */

export interface NewPlant {
  /** Any int64, including 0 and negative values. */
  readonly id: bigint;
  readonly name: string;
  /** `""` is an empty tag; `undefined` is no tag. */
  readonly tag?: string | undefined;
}

export type Plant = Omit<NewPlant, "id">;

export type TextField = keyof Plant;

/** Lists each text field once. tsc reports a new field that is missing here. */
const texts: Readonly<Record<TextField, true>> = { name: true, tag: true };

/** Every field except the id, in the order used in tables and files. */
export const textFields = Object.keys(texts) as readonly TextField[];

/** A plant of its texts. @param textOf Null and undefined are no text; a name is never that. */
export function plantFrom(
  id: bigint,
  textOf: (field: TextField) => string | null | undefined,
): NewPlant {
  const plant: { -readonly [Field in keyof NewPlant]: NewPlant[Field] } = { id, name: "" };
  for (const field of textFields) {
    const text = textOf(field);
    if (typeof text === "string") plant[field] = text;
  }
  return plant;
}

export function isSamePlant(one: Plant, other: Plant): boolean {
  return textFields.every((field) => one[field] === other[field]);
}

export function withoutId({ id: _id, ...plant }: NewPlant): Plant {
  return plant;
}

/** The rest after every field was destructured. tsc rejects a rest that still has a field. */
export type NothingLeft = Readonly<Record<PropertyKey, never>>;

export type PlantErrorCode =
  /** A field has an invalid value; `field` names it. */
  | "invalid"
  /** The id belongs to a plant with another name or tag. */
  | "id_taken"
  /** The store's queue is full. Nothing was written. */
  | "overloaded"
  /** The store cannot write, or does not know whether it did. Retrying is safe. */
  | "unavailable";

/** A plant could not be created. The message is safe to show to any client. */
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

/** What prevents a store from creating plants. */
export const obstacles = [
  "closed",
  /** The store has failed for good and must be opened again. */
  "failed",
  /** There is no connection to the database. */
  "unreachable",
  "disk_full",
  /** Another session holds a lock on the database or its table. */
  "locked",
  "forbidden",
  "read_only",
  /** The database no longer guarantees that its commits survive a crash. */
  "not_durable",
  /** The database has changed since it was opened: its table or its encoding. */
  "damaged",
  /** Writes fail for some other reason. */
  "unwritable",
] as const;

export type Obstacle = (typeof obstacles)[number];

/** The error of a store whose queue is full. */
export function overloaded(): PlantError {
  return new PlantError("overloaded", "the store has too much work waiting; try again later");
}

/** The part of `AbortSignal` that is needed to stop waiting. */
export interface Cancellation extends Pick<AbortSignal, "aborted" | "reason"> {
  addEventListener(type: "abort", listener: AbortListener): void;
  removeEventListener(type: "abort", listener: AbortListener): void;
}

/** An object, so that a waiter can be the listener itself, without a function for each call. */
export interface AbortListener {
  handleEvent(): void;
}

/**
 * Stores plants, on any engine.
 *
 * **Durability.** `create` resolves only after the plant is on stable storage. No later crash of
 * the process or the machine loses or changes it. Success is never reported early or wrongly.
 *
 * **Create once.** An id belongs to the first plant created under it, forever. Creating an equal
 * plant (same id, name and tag) again succeeds, however often and however concurrently. Creating a
 * different one fails with `id_taken` and leaves the first untouched. If several different plants
 * race for one id, exactly one wins.
 *
 * **Exactness.** id, name and tag are stored bit for bit: no rounding, no normalisation, no
 * trimming. An empty tag is different from no tag.
 *
 * **Failure.** A `create` that fails with `invalid`, `id_taken` or `overloaded` wrote nothing. One
 * that fails with `unavailable`, or with the reason of its signal, may or may not have written the
 * plant. To find out, repeat the call.
 *
 * **Concurrency.** Any number of calls at once. Calls share commits, but each has its own result: a
 * failed call does not fail the others.
 */
export interface PlantStore {
  /**
   * Creates a plant.
   * @param signal Stops waiting when it aborts, and rejects with its reason.
   * @throws {PlantError} `invalid` if {@link assertValidPlant} rejects the plant, `id_taken`,
   * `overloaded` or `unavailable`.
   */
  create(plant: NewPlant, signal?: Cancellation): Promise<Plant>;

  /** Whether any `create` would now fail with `overloaded` because the queue is full. */
  isFull(): boolean;

  /** What prevents any `create` now, as far as is known. The store detects when it is gone. */
  obstacle(): Obstacle | undefined;

  /** Finishes the creates under way. Later ones fail with `unavailable`. Idempotent. */
  close(): Promise<void>;
}

export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

/**
 * @throws {PlantError} `invalid`, naming the field, if a plant cannot be stored exactly: an id
 * outside int64, or text with a lone surrogate or U+0000 (which PostgreSQL cannot store).
 */
export function assertValidPlant(plant: NewPlant): void {
  if (plant.id < int64Min || plant.id > int64Max) {
    throw new PlantError("invalid", "id must be a 64-bit integer", { field: "id" });
  }
  for (const field of textFields) {
    const text = plant[field] ?? "";
    if (!text.isWellFormed()) {
      throw new PlantError("invalid", `${field} must not contain a lone surrogate`, { field });
    }
    if (text.includes("\0")) {
      throw new PlantError("invalid", `${field} must not contain U+0000`, { field });
    }
  }
}
