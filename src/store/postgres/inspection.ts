import type { PostgresAddress } from "./address.ts";
import type { PostgresLimits } from "./limits.ts";
import { assertNodes, readNode, readNodes } from "./nodes.ts";
import { type Placement, readPlacement } from "./placement.ts";
import { assertTable } from "./schema.ts";
import type { Session } from "./session.ts";
import { assertServer } from "./settings.ts";

/** Repeats the checks of opening: a reload or an ALTER TABLE takes effect without notice. */
export class Inspection {
  readonly #address: PostgresAddress;
  readonly #limits: PostgresLimits;
  readonly #passedAt = new WeakMap<Session, number>();
  #placement: Placement | undefined;

  constructor(address: PostgresAddress, limits: PostgresLimits) {
    this.#address = address;
    this.#limits = limits;
  }

  get placement(): Placement | undefined {
    return this.#placement;
  }

  /** Before each write, unless the session passed a moment ago, so that none is unguarded. */
  async runWhenDue(session: Session): Promise<void> {
    const passedAt = this.#passedAt.get(session) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - passedAt >= this.#limits.inspectIntervalMs) await this.run(session);
  }

  /**
   * Not before writes: a node that does not answer takes long. @param isOpen Whether there is a
   * session on a node, which is inspected there. @throws {StoreOpenError} or what prevented the
   * inspection.
   */
  async runWhole(session: Session, isOpen = (_node: string) => false): Promise<void> {
    await this.run(session);
    this.#placement = await readPlacement(session);
    if (this.#placement === undefined || [...this.#placement.nodes.keys()].every(isOpen)) return;
    const nodes = await readNodes(session).catch(() => []);
    assertNodes(nodes, this.#address);
  }

  /** @throws {StoreOpenError} or the error that prevented the inspection. */
  async runOnNode(session: Session): Promise<void> {
    await this.runWhenDue(session);
    assertNodes([await readNode(session)], this.#address);
  }

  /** @throws {StoreOpenError} or the error that prevented the inspection. */
  async run(session: Session): Promise<void> {
    const startedAt = performance.now();
    await assertServer(session, this.#address);
    await assertTable(session);
    this.#passedAt.set(session, startedAt);
  }
}
