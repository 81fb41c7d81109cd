import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { textFields } from "../../../plant.ts";
import {
  distance,
  field,
  idOffset,
  noText,
  notifyProducer,
  type QueueViews,
  ringBytes,
  rowState,
  textsInMessage,
  textsOffset,
  viewQueue,
  word,
} from "./memory.ts";
import type { CommitFailure, LongTexts } from "./messages.ts";

const int32Max = 2 ** 31 - 1;

/** The values of a row in the order of the columns: the id, then the texts. */
export type RowValues = [id: bigint, ...texts: (string | null)[]];

/** How much more goes into a commit. */
export interface Room {
  rows: number;
  bytes: number;
  /** Nothing is in it yet. */
  isWhole: boolean;
}

/** What became of a commit. */
export interface CommitReport {
  /** For each row that was taken: whether its id is another plant's. Undefined: the commit failed. */
  readonly idTaken: readonly boolean[] | undefined;
  /** All rows of the commit; 0 where another queue's producer is told of it. */
  readonly rows: number;
  readonly durationUs: number;
}

/** The consumer's end of a queue. */
export class QueueReader {
  readonly #memory: SharedArrayBuffer;
  readonly #views: QueueViews;
  readonly #port: MessagePort;
  /** Where the next record is, in bytes. */
  #at = 0;
  #passed = 0;
  /** Where the records of the rows in the commit under way are. */
  #taken: number[] = [];

  constructor(memory: SharedArrayBuffer, port: MessagePort) {
    this.#memory = memory;
    this.#views = viewQueue(memory);
    this.#port = port;
  }

  get hasLeft(): boolean {
    return Atomics.load(this.#views.words, word.hasLeft) !== 0;
  }

  /**
   * Takes rows that wait into a commit, in their order, as far as there is room. A row
   * that is larger than a whole commit may be goes alone.
   */
  take(room: Room): readonly RowValues[] {
    const { words, ring } = this.#views;
    const rows: RowValues[] = [];
    if (distance(Atomics.load(words, word.due), this.#passed) <= 0) return rows;
    const published = Atomics.load(words, word.published);
    while (this.#passed !== published && room.rows > 0) {
      if (ring.words[(this.#at >> 2) + field.state] === rowState.wrap) this.#at = 0;
      const place = this.#at;
      const at = place >> 2;
      const bytes = ring.words[at + field.heapBytes] as number;
      if (bytes > room.bytes && !room.isWhole) break;
      this.#at = (place + (ring.words[at + field.size] as number)) % ringBytes;
      this.#passed = (this.#passed + 1) | 0;
      const texts = this.#readTexts(place);
      const { waiting, taken } = rowState;
      if (Atomics.compareExchange(ring.words, at + field.state, waiting, taken) !== waiting) {
        continue;
      }
      rows.push([ring.ids[(place + idOffset) >> 3] as bigint, ...texts]);
      this.#taken.push(place);
      room.isWhole = false;
      room.rows--;
      room.bytes -= bytes;
    }
    Atomics.store(words, word.taken, this.#passed);
    return rows;
  }

  /** Writes down what became of the rows that were taken, and that the others were passed. */
  report({ idTaken, rows, durationUs }: CommitReport): void {
    const { words, ring } = this.#views;
    for (const [index, place] of this.#taken.entries()) {
      const at = place >> 2;
      ring.words[at + field.commitRows] = index === 0 ? rows : 0;
      ring.words[at + field.commitUs] = Math.min(durationUs, int32Max);
      ring.words[at + field.state] = outcome(idTaken, index);
    }
    this.#taken = [];
    Atomics.store(words, word.reported, this.#passed);
  }

  /** Whether rows were passed that no report has told of. */
  get isDue(): boolean {
    return distance(this.#passed, Atomics.load(this.#views.words, word.reported)) > 0;
  }

  /** Tells the producer why a commit failed; to be called ahead of its report. */
  explain(failure: CommitFailure): void {
    this.#port.postMessage(failure);
  }

  /** Tells the producer to look at what was reported. */
  notify(): void {
    notifyProducer(this.#memory);
  }

  close(): void {
    this.#port.close();
  }

  #readTexts(place: number): (string | null)[] {
    const { words, bytes } = this.#views.ring;
    const lengths = (place >> 2) + field.lengths;
    if (words[lengths] === textsInMessage) return this.#receiveTexts();
    const texts: (string | null)[] = [];
    let from = place + textsOffset;
    for (let index = 0; index < textFields.length; index++) {
      const length = words[lengths + index] as number;
      texts.push(length === noText ? null : bytes.toString("utf8", from, from + length));
      if (length !== noText) from += length;
    }
    return texts;
  }

  #receiveTexts(): (string | null)[] {
    const message: LongTexts | undefined = receiveMessageOnPort(this.#port)?.message;
    if (message === undefined) throw new Error("the texts of a row did not come");
    return [...message];
  }
}

function outcome(idTaken: CommitReport["idTaken"], index: number): number {
  if (idTaken === undefined) return rowState.failed;
  return idTaken[index] ? rowState.idTaken : rowState.created;
}
