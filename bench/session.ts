import { assertStored } from "./account.ts";
import type { Bench } from "./bench.ts";
import { loadThreads } from "./cores.ts";
import type { Load, LoadResult } from "./load/load.ts";
import { runGenerator } from "./load/run-generator.ts";
import { runWrk } from "./load/wrk.ts";
import { type Concurrency, concurrency, pacedConcurrency } from "./plan.ts";
import type { IdOrder } from "./plant-ids.ts";
import type { Start } from "./program.ts";
import type { RequestKind } from "./requests.ts";
import { type ServerProcess, type StartOptions, startServer } from "./server-process.ts";

export interface SessionOptions extends StartOptions {
  readonly kind: RequestKind;
  /** Plants in the store at the start. Default: 0. */
  readonly plants?: number;
  /** Default: ascending. */
  readonly order?: IdOrder;
}

/** The time until our generator reaches its full speed. */
const generatorStartSeconds = 0.5;

/** A server from start to end, with an account of the plants sent to it. */
export class Session implements AsyncDisposable {
  readonly server: ServerProcess;
  readonly #bench: Bench;
  readonly #start: Start;
  readonly #kind: RequestKind;
  readonly #order: IdOrder;
  #acknowledged: number;
  #unanswered = 0;

  private constructor(bench: Bench, start: Start, server: ServerProcess, options: SessionOptions) {
    this.#bench = bench;
    this.#start = start;
    this.server = server;
    this.#kind = options.kind;
    this.#order = options.order ?? "ascending";
    this.#acknowledged = options.plants ?? 0;
  }

  /** Starts the server and creates one plant, which shows that it answers correctly. */
  static async open(bench: Bench, start: Start, options: SessionOptions): Promise<Session> {
    const session = new Session(bench, start, await startServer(start, options), options);
    try {
      await session.#generate({ connections: 1, streams: 1, until: { requests: 1 } });
      return session;
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The closed loop for some seconds: as much as the server can do. */
  async loadToPeak(seconds: number): Promise<LoadResult> {
    if (this.#kind === "grpc" || this.#order !== "ascending") {
      return this.loadClosed({ seconds }, generatorStartSeconds);
    }
    const { connections } = concurrency.http1;
    const stream = this.#bench.ids.take(loadThreads);
    const { url } = this.server;
    const threads = loadThreads;
    return this.#account(
      await runWrk({ url, kind: this.#kind, stream, threads, connections, seconds }),
    );
  }

  /** The closed loop of our own generator, which abandons no request at the end. */
  loadClosed(until: Load["until"], warmUpSeconds = 0): Promise<LoadResult> {
    const { connections, streams } = concurrency[this.#transport];
    return this.#generate({ connections, streams, until, warmUpSeconds });
  }

  /** The closed loop of our own generator, with the given concurrency. */
  loadAt(options: Record<"http1" | "grpc", Concurrency>, seconds: number): Promise<LoadResult> {
    const { connections, streams } = options[this.#transport];
    const warmUpSeconds = generatorStartSeconds;
    return this.#generate({ connections, streams, until: { seconds }, warmUpSeconds });
  }

  /** The open loop: a fixed number of requests per second, whatever the answers do. */
  loadPaced(
    rate: number,
    { seconds, warmUpSeconds }: { readonly seconds: number; readonly warmUpSeconds: number },
  ): Promise<LoadResult> {
    const { connections, streams } = pacedConcurrency[this.#transport];
    return this.#generate({ connections, streams, until: { seconds }, warmUpSeconds, rate });
  }

  /**
   * Stops the server and counts its plants.
   *
   * @returns the number of stored plants; undefined if it stores none.
   * @throws if there are fewer than were acknowledged, or more than were sent.
   */
  async close(): Promise<number | undefined> {
    await this.server.stop();
    const stored = await this.#start.store?.countPlants();
    if (stored === undefined) return undefined;
    assertStored(stored, { acknowledged: this.#acknowledged, unanswered: this.#unanswered });
    return stored;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }

  get #transport(): "http1" | "grpc" {
    return this.#kind === "grpc" ? "grpc" : "http1";
  }

  async #generate(load: Omit<Load, "urls" | "kind" | "ids">): Promise<LoadResult> {
    const ids = { stream: this.#bench.ids.take(), order: this.#order };
    return this.#account(
      await runGenerator({ urls: [this.server.url], kind: this.#kind, ids, ...load }),
    );
  }

  #account(result: LoadResult): LoadResult {
    if (result.failed > 0) throw new Error(`${result.failed} requests failed`);
    this.#acknowledged += result.created;
    this.#unanswered += result.unanswered;
    return result;
  }
}
