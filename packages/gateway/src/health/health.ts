import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { errorResponse, type RenderError, RestFailure, renderStatus } from "../errors/http.ts";
import { jsonResponse } from "../http/body.ts";
import type { NodeHandler } from "../http/request-exchange.ts";
import { assertOptions, assertPathPrefix, optionKinds } from "../rpc/options.ts";
import {
  createStreamLimit,
  drainingSignal,
  servicesOf,
  smallMessages,
} from "../rpc/own-services.ts";

export interface Readiness {
  /**
   * Whether a request would be served now. Called with the full name of a service, or with "" for the
   * server as a whole. Default: yes. If it throws, or gives a promise, it is not ready: it is also
   * called by a timer, where an error would end the process.
   */
  readonly isReady?: (service: string) => boolean;
  /** Aborts when the server begins to drain. From then on, it is not ready. Default: never. */
  readonly draining?: AbortSignal;
}

function resolveReadiness({ isReady, draining }: Readiness) {
  const signal = drainingSignal(draining);
  const saysReady = (service = "") => {
    try {
      return !signal.aborted && (isReady?.(service) ?? true) === true;
    } catch {
      return false;
    }
  };
  return { isReady: saysReady, draining: signal };
}

/** The longest delay before a change is reported. Stores and threads have no event for it. */
const intervalMs = 250;

/** Resolves when the readiness differs from `seen`, or when the server drains, or the signal aborts. */
export function readinessChange(
  { isReady, draining }: { isReady(): boolean; readonly draining: AbortSignal },
  seen: boolean,
  signal: AbortSignal,
): Promise<void> {
  const signals = [draining, signal];
  return new Promise((resolve) => {
    const end = () => {
      clearInterval(timer);
      for (const one of signals) one.removeEventListener("abort", end);
      resolve();
    };
    const timer = setInterval(() => isReady() !== seen && end(), intervalMs).unref();
    for (const one of signals) one.addEventListener("abort", end);
    if (signals.some(({ aborted }) => aborted) || isReady() !== seen) end();
  });
}

export interface HealthOptions extends Readiness {
  /** The services whose health is known. Default: all on the router. */
  readonly services?: readonly DescService[];
  /** The maximum number of concurrent watches. Default: 1024. */
  readonly watchesMax?: number;
}

const serviceKinds = optionKinds<HealthOptions>()({
  function: "isReady",
  object: "draining",
  "list of objects": "services",
  "number from 0": "watchesMax",
});

/**
 * Adds `grpc.health.v1.Health` to a router, with the same gate and interceptors as the other
 * services unless `handler` says otherwise. A drain ends every Watch after a last NOT_SERVING, so
 * that none delays it. See https://github.com/grpc/grpc/blob/master/doc/health-checking.md.
 * @param handler Options of the service, as for `router.service`.
 * @throws {TypeError} for an unknown option.
 */
export function addHealth(
  router: ConnectRouter,
  options: HealthOptions = {},
  handler?: Partial<UniversalHandlerOptions>,
): void {
  assertOptions("addHealth", options, serviceKinds);
  // A Watch lasts as long as its client likes, and needs no token. The limit is well above the
  // number of load balancers of one server. Each Watch takes about ten KiB.
  const { services, watchesMax = 1024, ...given } = options;
  const { isReady, draining } = resolveReadiness(given);
  const enter = createStreamLimit(watchesMax, "there are too many watches");
  // Asked by calls, when the router has all its services.
  const names = () => ["", ...(services ?? servicesOf(router)).map(({ typeName }) => typeName)];
  const isKnown = (name: string) => names().includes(name);
  const statusWhen = (ready: boolean) => (ready ? Status.SERVING : Status.NOT_SERVING);

  const health: ServiceImpl<typeof Health> = {
    check({ service }) {
      if (isKnown(service)) return { status: statusWhen(isReady(service)) };
      throw new ConnectError("there is no such service here", Code.NotFound);
    },

    list() {
      const statusOf = (name: string) => [name, { status: statusWhen(isReady(name)) }];
      return { statuses: Object.fromEntries(names().map(statusOf)) };
    },

    async *watch({ service }, { signal }) {
      signal.throwIfAborted();
      enter(signal);
      const readiness = { isReady: () => isReady(service), draining };
      let last: Status | undefined;
      for (;;) {
        const ready = readiness.isReady();
        const status = isKnown(service) ? statusWhen(ready) : Status.SERVICE_UNKNOWN;
        if (status !== last) yield { status };
        last = status;
        if (!ready) draining.throwIfAborted();
        await readinessChange(readiness, ready, signal);
        signal.throwIfAborted(); // the server may have ended it: that is not a success
      }
    },
  };
  router.service(Health, health, { ...smallMessages, ...handler });
}

export interface HealthHandlersOptions extends Readiness {
  /** Path prefixes. Each has all handlers. Default: only the root. */
  readonly prefixes?: readonly string[];
  /** Renders errors, as `rest.renderError` does. Default: `google.rpc.Status`. */
  readonly renderError?: RenderError;
}

const handlerKinds = optionKinds<HealthHandlersOptions>()({
  function: "isReady renderError",
  object: "draining",
  "list of strings": "prefixes",
});

/**
 * `GET /healthz`: the process is running. `GET /readyz`: it would accept requests; otherwise 503.
 * @returns the handlers by full path.
 * @throws {TypeError} for an unknown option.
 */
export function createHealthHandlers(
  options: HealthHandlersOptions = {},
): ReadonlyMap<string, NodeHandler> {
  assertOptions("createHealthHandlers", options, handlerKinds);
  const { prefixes = [""], renderError = renderStatus, ...readiness } = options;
  for (const prefix of prefixes) assertPathPrefix("createHealthHandlers.prefixes", prefix);
  const { isReady } = resolveReadiness(readiness);
  const refuse = (error: ConnectError) => errorResponse(error, { renderError });
  const answerTo = (method: string | undefined, isWell: boolean) => {
    if (method === "GET" || method === "HEAD") {
      if (isWell) return jsonResponse('{"status":"ok"}');
      return refuse(new ConnectError("the server is not ready", Code.Unavailable));
    }
    const [text, allow] = ["the method must be GET or HEAD", "GET, HEAD"];
    return refuse(new RestFailure(405, Code.Unimplemented, text, { allow }));
  };
  const serve = (isWell: () => boolean): NodeHandler => {
    return ({ method }, response) => {
      const { status, header, body } = answerTo(method, isWell());
      response.writeHead(status, { ...header, "cache-control": "no-store" });
      response.end(body); // Node omits the body of an answer to HEAD by itself
    };
  };
  return new Map(
    prefixes.flatMap((prefix) => [
      [`${prefix}/healthz`, serve(() => true)],
      [`${prefix}/readyz`, serve(isReady)],
    ]),
  );
}
