import type { PostgresAddress } from "./address.ts";
import { withTimelines } from "./connect.ts";
import type { PostgresLimits } from "./limits.ts";
import { assertNodes, readNode, readNodes } from "./nodes.ts";
import { type Placement, readPlacement } from "./placement.ts";
import { assertTable } from "./schema.ts";
import type { Session } from "./session.ts";
import { assertServer } from "./settings.ts";

export type Inspection = ReturnType<typeof createInspection>;

/** Repeats the checks of opening: a reload or an ALTER TABLE takes effect without notice. */
export function createInspection(address: PostgresAddress, limits: PostgresLimits) {
  const isOld = (time: number) => performance.now() - time >= limits.inspectIntervalMs;
  const passedAt = new WeakMap<Session, number>();
  let askedAt = performance.now();
  let answeredAt = askedAt;
  let placement: Placement | undefined;

  /** @throws {StoreOpenError} or the error that prevented the inspection, as all of these do. */
  async function run(session: Session): Promise<void> {
    const startedAt = performance.now();
    await assertServer(session, address);
    await assertTable(session);
    passedAt.set(session, startedAt);
  }

  /** Before each write, unless the session passed a moment ago, so that none is unguarded. */
  async function runWhenDue(session: Session): Promise<void> {
    const before = passedAt.get(session) ?? Number.NEGATIVE_INFINITY;
    if (before < answeredAt || isOld(before)) await run(session);
  }

  /** An old primary does not know of a promotion. Nothing waits for a host that is silent. */
  async function askOthers({ host }: Session): Promise<void> {
    if (address.hosts.length === 1 || !isOld(askedAt)) return;
    askedAt = performance.now();
    await withTimelines(address, limits, host);
    answeredAt = performance.now();
  }

  return {
    run,
    runWhenDue,
    get placement(): Placement | undefined {
      return placement;
    },
    /**
     * Not before writes: a node that does not answer takes long. @param isOpen Whether there is a
     * session on a node, which is inspected there.
     */
    async runWhole(session: Session, isOpen = (_node: string) => false): Promise<void> {
      void askOthers(session);
      await run(session);
      placement = await readPlacement(session);
      if (placement === undefined || [...placement.nodes.keys()].every(isOpen)) return;
      assertNodes(await readNodes(session).catch(() => []), address);
    },
    async runOnNode(session: Session): Promise<void> {
      await runWhenDue(session);
      assertNodes([await readNode(session)], address);
    },
  };
}
