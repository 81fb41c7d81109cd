import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import { createStreamLimit } from "../call/stream-limit.ts";
import { createReadinessWatch } from "./readiness-watch.ts";

export interface HealthServiceOptions {
  /** What `/readyz` says. */
  readonly isReady: () => boolean;
  /** Full names of the services that are as well as the server is; `""`, the server, is always known. */
  readonly services: readonly string[];
  /** Aborts when the server begins to drain, with what to tell a Watch that ends for it. */
  readonly draining: AbortSignal;
  /** Watches at the same time. Default {@link watchesMax}. */
  readonly watchesMax?: number;
}

/**
 * A Watch lives as long as its client likes, who needs no token: so many of
 * them, each of some ten KiB, are more than the load balancers of one server.
 */
export const watchesMax = 1024;

/**
 * `grpc.health.v1.Health`, as https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 * says. A drain ends every Watch, behind a last NOT_SERVING, so that none holds it up.
 */
export function createHealthService(options: HealthServiceOptions): ServiceImpl<typeof Health> {
  const { isReady, draining, watchesMax: max = watchesMax } = options;
  const names = ["", ...options.services];
  const known = new Set(names);
  const watch = createReadinessWatch(isReady, draining);
  const enter = createStreamLimit(max, "there are too many watches");

  const statusWhen = (ready: boolean) => (ready ? Status.SERVING : Status.NOT_SERVING);

  return {
    check({ service }) {
      if (known.has(service)) return { status: statusWhen(isReady()) };
      throw new ConnectError("there is no such service here", Code.NotFound);
    },

    list() {
      const status = statusWhen(isReady());
      return { statuses: Object.fromEntries(names.map((name) => [name, { status }])) };
    },

    async *watch({ service }, { signal }) {
      if (signal.aborted) return;
      enter(signal);
      let last: Status | undefined;
      while (!signal.aborted) {
        const ready = isReady();
        const status = known.has(service) ? statusWhen(ready) : Status.SERVICE_UNKNOWN;
        if (status !== last) yield { status };
        last = status;
        draining.throwIfAborted();
        await watch.untilNot(ready, signal);
      }
    },
  };
}
