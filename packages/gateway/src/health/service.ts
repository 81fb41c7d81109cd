import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { assertOptions, type OptionKindsOf } from "../rpc/options.ts";
import { createStreamLimit, servicesOf, smallMessages } from "../rpc/own-services.ts";
import { type Readiness, readinessChange, readinessKinds, resolveReadiness } from "./readiness.ts";

export interface HealthOptions extends Readiness {
  /** The services that have the same health as the server. Default: all on the router. */
  readonly services?: readonly DescService[];
  /** The maximum number of concurrent watches. Default: 1024. */
  readonly watchesMax?: number;
}

const optionKinds: OptionKindsOf<HealthOptions> = {
  ...readinessKinds,
  services: "list",
  watchesMax: "number",
};

/**
 * Adds `grpc.health.v1.Health` to a router, with the same gate and interceptors as the other
 * services unless `handler` says otherwise. A drain ends every Watch after a last NOT_SERVING, so
 * that none delays it. See https://github.com/grpc/grpc/blob/master/doc/health-checking.md.
 *
 * @param handler Options of the service, as for `router.service`.
 * @throws {TypeError} for an unknown option.
 */
export function addHealth(
  router: ConnectRouter,
  options: HealthOptions = {},
  handler?: Partial<UniversalHandlerOptions>,
): void {
  assertOptions("addHealth", options, optionKinds);
  // A Watch lasts as long as its client likes, and needs no token. The limit is well above the
  // number of load balancers of one server. Each Watch takes about ten KiB.
  const { services, watchesMax = 1024, ...given } = options;
  const readiness = resolveReadiness(given);
  const { isReady, draining } = readiness;
  const enter = createStreamLimit(watchesMax, "there are too many watches");
  const names = () => ["", ...(services ?? servicesOf(router)).map(({ typeName }) => typeName)];
  let known: ReadonlySet<string> | undefined;
  // On first use, when the router has all its services.
  const isKnown = (name: string) => {
    known ??= new Set(names());
    return known.has(name);
  };
  const statusWhen = (ready: boolean) => (ready ? Status.SERVING : Status.NOT_SERVING);

  const health: ServiceImpl<typeof Health> = {
    check({ service }) {
      if (isKnown(service)) return { status: statusWhen(isReady()) };
      throw new ConnectError("there is no such service here", Code.NotFound);
    },

    list() {
      const status = statusWhen(isReady());
      return { statuses: Object.fromEntries(names().map((name) => [name, { status }])) };
    },

    async *watch({ service }, { signal }) {
      signal.throwIfAborted();
      enter(signal);
      let last: Status | undefined;
      for (;;) {
        const ready = isReady();
        const status = isKnown(service) ? statusWhen(ready) : Status.SERVICE_UNKNOWN;
        if (status !== last) yield { status };
        last = status;
        draining.throwIfAborted();
        await readinessChange(readiness, ready, signal);
        signal.throwIfAborted(); // the server may have ended it: that is not a success
      }
    },
  };
  router.service(Health, health, { ...smallMessages, ...handler });
}
