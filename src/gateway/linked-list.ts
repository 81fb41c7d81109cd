/** A value in a list, which can leave it. */
export interface Link {
  remove(): void;
}

interface Node<T> {
  previous: Node<T> | undefined;
  next: Node<T> | undefined;
  readonly value: T | undefined;
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
  readonly #head: Node<T> = { previous: undefined, next: undefined, value: undefined };
  #tail: Node<T> = this.#head;

  append(value: T): Link {
    const node: Node<T> = { previous: this.#tail, next: undefined, value };
    this.#tail.next = node;
    this.#tail = node;
    return { remove: () => this.#remove(node) };
  }

  /** The values of now; they may leave meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    const values: T[] = [];
    for (let node = this.#head.next; node !== undefined; node = node.next) {
      values.push(node.value as T);
    }
    return values[Symbol.iterator]();
  }

  #remove(node: Node<T>): void {
    const { previous, next } = node;
    if (previous === undefined) return; // it has left
    previous.next = next;
    if (next === undefined) this.#tail = previous;
    else next.previous = previous;
    // It must not hold its neighbours any more.
    node.previous = undefined;
    node.next = undefined;
  }
}
