/** A value's place in a list. */
export interface Link {
  /** Does nothing if it has been removed. */
  remove(): void;
}

/** A node of a ring. By itself, it is a ring of one. */
class Node<T> implements Link {
  readonly value: T | undefined;
  previous: Node<T> = this;
  next: Node<T> = this;

  constructor(value?: T) {
    this.value = value;
  }

  insertBefore(next: Node<T>): void {
    this.previous = next.previous;
    this.next = next;
    next.previous.next = this;
    next.previous = this;
  }

  remove(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    // Keep no references to its neighbours.
    this.previous = this;
    this.next = this;
  }
}

/**
 * Values in the order of their arrival. Each can be removed at any time.
 *
 * Not a Set, because of V8's garbage collector: when V8 replaces a Set's table, the old table keeps
 * its members and the new one reachable. Once a table is in the old generation, everything that passes
 * through the Set gets there. With values for each call, collections took several times as long.
 */
export class LinkedList<T> implements Iterable<T> {
  /** After the last value, and before the first. */
  readonly #end = new Node<T>();

  append(value: T): Link {
    const node = new Node(value);
    node.insertBefore(this.#end);
    return node;
  }

  /** A snapshot: values may be removed meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    const values: T[] = [];
    for (let node = this.#end.next; node !== this.#end; node = node.next) {
      values.push(node.value as T);
    }
    return values[Symbol.iterator]();
  }
}
