/** A value in a list, which can leave it. */
export interface Link {
  /** Again: does nothing. */
  remove(): void;
}

/** One place of a ring. By itself, it is a ring of one. */
class Place<T> implements Link {
  readonly value: T | undefined;
  previous: Place<T> = this;
  next: Place<T> = this;

  constructor(value?: T) {
    this.value = value;
  }

  insertBefore(next: Place<T>): void {
    this.previous = next.previous;
    this.next = next;
    next.previous.next = this;
    next.previous = this;
  }

  remove(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    // It must not hold its neighbours any more.
    this.previous = this;
    this.next = this;
  }
}

/**
 * Values in the order in which they came, each of which can leave at any time.
 *
 * A Set would do, but for the garbage collector: when V8 makes a Set's table
 * anew, the old one still holds the members and the new table. Once one such
 * table has grown old, so does everything that ever passes through the Set. For
 * what comes and goes with each call, that made collections several times as long.
 */
export class LinkedList<T> implements Iterable<T> {
  /** Behind the last value, and before the first. */
  readonly #end = new Place<T>();

  append(value: T): Link {
    const place = new Place(value);
    place.insertBefore(this.#end);
    return place;
  }

  /** The values of now; they may leave meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    const values: T[] = [];
    for (let place = this.#end.next; place !== this.#end; place = place.next) {
      values.push(place.value as T);
    }
    return values[Symbol.iterator]();
  }
}
