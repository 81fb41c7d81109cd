import type { PostgresAddress } from "./address.ts";
import type { PostgresLimits } from "./limits.ts";
import { assertNodes, readNodes } from "./nodes.ts";
import { type Placement, readPlacement } from "./placement.ts";
import { assertTable } from "./schema.ts";
import type { Session } from "./session.ts";
import { assertServer } from "./settings.ts";

/**
 * Checks again, on sessions that are open, what opening the store required. A
 * reload of the server's configuration and an ALTER TABLE change it for all
 * sessions, and tell none.
 */
export class Inspection {
  readonly #address: PostgresAddress;
  readonly #limits: PostgresLimits;
  readonly #passedAt = new WeakMap<Session, number>();
  #placement: Placement | undefined;

  constructor(address: PostgresAddress, limits: PostgresLimits) {
    this.#address = address;
    this.#limits = limits;
  }

  /** Where plants are kept, as of the last whole inspection. */
  get placement(): Placement | undefined {
    return this.#placement;
  }

  /** Runs unless this session has passed a moment ago: before each write, so that none goes unguarded. */
  async runWhenDue(session: Session): Promise<void> {
    const passedAt = this.#passedAt.get(session) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - passedAt >= this.#limits.inspectIntervalMs) await this.run(session);
  }

  /**
   * Inspects a cluster whole. Not before writes: to ask a node that does not
   * answer takes long.
   *
   * @throws {StoreOpenError} or what kept it from being found out.
   */
  async runWhole(session: Session): Promise<void> {
    await this.run(session);
    this.#placement = await readPlacement(session, this.#limits.connectTimeoutMs);
    if (this.#placement === undefined) return;
    const nodes = await readNodes(session, this.#limits.connectTimeoutMs).catch(() => []);
    assertNodes(nodes, this.#address);
  }

  /** @throws {StoreOpenError} or what kept it from being found out. */
  async run(session: Session): Promise<void> {
    const startedAt = performance.now();
    await assertServer(session, this.#address, this.#limits.connectTimeoutMs);
    await assertTable(session, this.#limits.connectTimeoutMs);
    this.#passedAt.set(session, startedAt);
  }
}
