import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { type Cancellation, type NewPlant, overloaded, textFields } from "../../../plant.ts";
import type { CommitObserver } from "../../commit-observer.ts";
import { type Commits, notConfirmed } from "../../commits.ts";
import type { RowOutcome } from "../../engine.ts";
import { heapBytes, heapBytesMin } from "../../heap-bytes.ts";
import type { CommitLimits } from "../../options.ts";
import { Waiter } from "../../waiter.ts";
import { WaitingRoom } from "../../waiting-room.ts";
import { SqliteFailure } from "../sqlite-failure.ts";
import { Bell } from "./bell.ts";
import {
  align,
  distance,
  field,
  idOffset,
  leaveQueue,
  noText,
  type QueueViews,
  ringBytes,
  rowState,
  textsInMessage,
  textsOffset,
  viewQueue,
  word,
} from "./memory.ts";
import type { CommitFailure, LongTexts, QueueEnd } from "./messages.ts";
import { Pace } from "./pace.ts";

/** The texts of a plant that may need more go by message. */
const recordBytesMax = ringBytes / 4;

/** A plant, and where its record is in the ring, in bytes. */
class QueuedWaiter extends Waiter {
  start = notSent;
  /** Where its space begins: at its record, or at the wrap mark that leads there. */
  from = notSent;
  isWithdrawn = false;
  /** Its texts are in a message, which holds memory until the thread has passed the row. */
  isLong = false;
}

const notSent = -1;

/**
 * The producer's end of a queue: plants lie in shared memory, where the thread
 * that commits takes all that wait whenever it is free. Whatever this thread does
 * meanwhile delays no commit.
 */
export class QueuedCommits implements Commits {
  readonly #memory: SharedArrayBuffer;
  readonly #views: QueueViews;
  readonly #bell: Bell;
  readonly #port: MessagePort;
  readonly #pace: Pace;
  readonly #waiting: WaitingRoom;
  readonly #observer: CommitObserver | undefined;
  /** Wait for room in the ring, in order of arrival. */
  readonly #unsent = new Set<QueuedWaiter>();
  /** In the ring, in its order, until they are reported. */
  #sent: QueuedWaiter[] = [];
  #published = 0;
  /** Up to here, rows belong to a commit that has been asked for. */
  #due = 0;
  #taken = 0;
  #reported = 0;
  /** Where the next record goes. */
  #head = 0;
  #isListening = false;
  #commitMs = 0;
  #isGathering = false;
  #failure: SqliteFailure | undefined;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor({ memory, bell, port }: QueueEnd, limits: CommitLimits, observer?: CommitObserver) {
    this.#memory = memory;
    this.#views = viewQueue(memory);
    this.#bell = Bell.share(bell);
    this.#port = port;
    this.#pace = new Pace(limits.batchRowsMax);
    this.#waiting = new WaitingRoom(limits, observer);
    this.#observer = observer;
  }

  submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#bell.isBroken) return Promise.reject(notConfirmed(this.#failure));
    const bytes = heapBytes(plant);
    this.#noteTaken();
    if (!this.#waiting.hasRoomFor(bytes)) return Promise.reject(overloaded());
    const waiter = new QueuedWaiter(plant, bytes, this.#remove, signal);
    this.#unsent.add(waiter);
    this.#waiting.enter(bytes);
    this.#send();
    if (!this.#isListening) void this.#listen();
    return waiter.outcome;
  }

  isFull(): boolean {
    this.#noteTaken();
    return this.#waiting.isFull;
  }

  async drain(): Promise<void> {
    if (this.#isDrained()) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }

  /** Nothing more comes, and what waits is not taken. */
  close(): void {
    leaveQueue(this.#memory);
    this.#bell.ring();
    this.#port.close();
  }

  #isDrained(): boolean {
    return this.#sent.length === 0 && this.#unsent.size === 0;
  }

  /** Takes a waiter out whose caller has given up, unless its commit is under way. */
  readonly #remove = (waiter: Waiter): void => {
    if (!(waiter instanceof QueuedWaiter) || waiter.isWithdrawn) return;
    if (waiter.start === notSent) {
      this.#unsent.delete(waiter);
    } else {
      const { words } = this.#views.ring;
      const at = (waiter.start >> 2) + field.state;
      const { waiting, withdrawn } = rowState;
      if (Atomics.compareExchange(words, at, waiting, withdrawn) !== waiting) return;
    }
    waiter.isWithdrawn = true;
    this.#waiting.leave(1, waiter.isLong ? 0 : waiter.bytes);
  };

  /** Moves plants into the ring, as far as it has room. */
  #send(): void {
    const before = this.#published;
    for (const waiter of this.#unsent) {
      if (!this.#write(waiter)) break;
      this.#unsent.delete(waiter);
      this.#sent.push(waiter);
      this.#published = (this.#published + 1) | 0;
    }
    if (this.#published === before) return;
    Atomics.store(this.#views.words, word.published, this.#published);
    this.#gather();
  }

  /** Begins a commit if it is worth its while, or else when whoever is expected has come. */
  #gather(): void {
    if (this.#waiting.rows >= this.#pace.worthwhile) {
      this.#begin();
      return;
    }
    if (!this.#isIdle() || this.#isGathering) return;
    this.#isGathering = true;
    const begin = () => {
      this.#isGathering = false;
      if (this.#isIdle()) this.#begin();
    };
    const { patienceMs } = this.#pace;
    if (patienceMs > 0) setTimeout(begin, patienceMs);
    else setImmediate(begin);
  }

  /**
   * Whether there are rows and no commit that they belong to. Plants whose callers have left are
   * rows, too, until they were passed over.
   */
  #isIdle(): boolean {
    return distance(this.#due, this.#reported) <= 0 && this.#published !== this.#reported;
  }

  /** From now on the thread may take all that waits, as soon as it is free. */
  #begin(): void {
    this.#due = this.#published;
    Atomics.store(this.#views.words, word.due, this.#due);
    this.#bell.ring();
  }

  /** @returns Whether there was room. */
  #write(waiter: QueuedWaiter): boolean {
    const { plant } = waiter;
    if (plant === undefined) throw new Error("a plant was sent twice");
    const { words, ids, bytes } = this.#views.ring;
    // A UTF-16 code unit, of which `waiter.bytes` has two, is at most three bytes of UTF-8.
    const bound = textsOffset + align(1.5 * (waiter.bytes - heapBytesMin));
    const isLong = bound > recordBytesMax;
    const start = this.#reserve(isLong ? textsOffset : bound);
    if (start === undefined) return false;
    const at = start >> 2;
    let end = start + textsOffset;
    if (isLong) {
      words[at + field.lengths] = textsInMessage;
      const texts: LongTexts = textFields.map((name) => plant[name] ?? null);
      this.#port.postMessage(texts);
    } else {
      let length = at + field.lengths;
      for (const name of textFields) {
        const text = plant[name];
        const written = text === undefined ? noText : bytes.write(text, end);
        words[length++] = written;
        if (written !== noText) end += written;
      }
    }
    end = align(end);
    ids[(start + idOffset) >> 3] = plant.id;
    words[at + field.heapBytes] = waiter.bytes;
    words[at + field.size] = end - start;
    words[at + field.state] = rowState.waiting;
    waiter.start = start;
    waiter.from = this.#head % ringBytes;
    waiter.isLong = isLong;
    waiter.plant = undefined;
    this.#head = end;
    return true;
  }

  /** @returns Where so many bytes in a row are free; undefined if they are nowhere. */
  #reserve(bytes: number): number | undefined {
    const head = this.#head;
    const tail = this.#sent[0]?.from;
    if (tail !== undefined && head <= tail) return head + bytes <= tail ? head : undefined;
    if (head + bytes <= ringBytes) return head;
    if (tail !== undefined && bytes > tail) return undefined;
    if (head < ringBytes) this.#views.ring.words[(head >> 2) + field.state] = rowState.wrap;
    return 0;
  }

  /** Waits for reports as long as plants are on their way. */
  async #listen(): Promise<void> {
    this.#isListening = true;
    // `waitAsync` alone does not keep a thread's event loop alive.
    const alive = setInterval(() => {}, 2 ** 31 - 1);
    const { words } = this.#views;
    for (;;) {
      const news = Atomics.load(words, word.news);
      this.#receive();
      if (this.#isDrained()) break;
      const { async, value } = Atomics.waitAsync(words, word.news, news);
      if (async) await value;
    }
    clearInterval(alive);
    this.#isListening = false;
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  #receive(): void {
    const { words } = this.#views;
    // First: all that was reported was so before.
    const isBroken = this.#bell.isBroken;
    const reported = Atomics.load(words, word.reported);
    this.#noteTaken();
    const count = distance(reported, this.#reported);
    this.#reported = reported;
    if (count > 0) {
      const waiters = this.#sent;
      this.#sent = waiters.slice(count);
      for (let index = 0; index < count; index++) this.#settle(waiters[index] as QueuedWaiter);
      this.#pace.commitEnded(waiters.length, this.#commitMs);
      this.#send();
      this.#gather();
    }
    if (isBroken) this.#rejectAll();
  }

  /** Of a plant that was taken, or passed over. */
  #settle(waiter: QueuedWaiter): void {
    if (waiter.isWithdrawn) return;
    const { words } = this.#views.ring;
    const at = waiter.start >> 2;
    const state = words[at + field.state];
    const rows = words[at + field.commitRows] as number;
    const isFailed = state === rowState.failed;
    this.#commitMs = (words[at + field.commitUs] as number) / 1000;
    if (rows > 0) {
      this.#observer?.commitEnded({ rows, durationMs: this.#commitMs, isFailed });
    }
    if (isFailed) waiter.reject(notConfirmed(this.#readFailure()));
    else if (state === rowState.created) waiter.resolve("created");
    else if (state === rowState.idTaken) waiter.resolve("id_taken");
    else waiter.reject(notConfirmed(new Error(`a row was reported in state ${state}`)));
  }

  /** Plants that a commit has taken wait no more. */
  #noteTaken(): void {
    const taken = Atomics.load(this.#views.words, word.taken);
    const first = distance(this.#taken, this.#reported);
    const end = first + distance(taken, this.#taken);
    if (end === first) return;
    this.#taken = taken;
    let rows = 0;
    let bytes = 0;
    for (let index = first; index < end; index++) {
      const waiter = this.#sent[index] as QueuedWaiter;
      if (!waiter.isWithdrawn) rows++;
      if (!waiter.isWithdrawn || waiter.isLong) bytes += waiter.bytes;
    }
    this.#waiting.leave(rows, bytes);
  }

  #rejectAll(): void {
    const failure = this.#readFailure();
    const waiters = [...this.#sent, ...this.#unsent];
    this.#reported = this.#taken;
    this.#sent = [];
    this.#unsent.clear();
    this.#waiting.leave(this.#waiting.rows, this.#waiting.bytes);
    for (const waiter of waiters) waiter.reject(notConfirmed(failure));
  }

  /** The last one that the thread has told of. */
  #readFailure(): SqliteFailure {
    for (;;) {
      const failure: CommitFailure | undefined = receiveMessageOnPort(this.#port)?.message;
      if (failure === undefined) break;
      this.#failure = new SqliteFailure(failure.code, failure.message);
    }
    this.#failure ??= new SqliteFailure("exit", "the SQLite thread ended by itself");
    return this.#failure;
  }
}
