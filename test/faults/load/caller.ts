import { Code } from "@connectrpc/connect";
import type { HttpResponse } from "../../../packages/gateway/test/support/exchange.ts";
import { type RawProtocol, rawProtocols, restOverHttp1 } from "../../support/protocol/raw.ts";
import { knownToken } from "../../support/test-server.ts";
import type { RequestOutcome, TestPlant } from "../history/check.ts";
import { patienceMs } from "../server.ts";
import { openSender } from "./sender.ts";

/** One protocol to one server, on persistent connections, as in careful clients. */
export interface Caller extends Disposable {
  readonly protocol: string;
  /**
   * @param deadlineMs Sent to the server. The caller itself waits longer, so that the server has to
   * meet it.
   * @param leave Aborts the request like a client that leaves.
   */
  create(plant: TestPlant, deadlineMs: number, leave?: AbortSignal): Promise<RequestOutcome>;
}

type Callers = readonly Caller[] & Disposable;

/**
 * A caller for each protocol to each server.
 *
 * @param token Called for each request. Default: the token of the tests.
 */
export function openCallers(urls: readonly string[], token?: () => string): Callers {
  const callers = urls.flatMap((url) =>
    rawProtocols.map((protocol) => openCaller(protocol, url, token)),
  );
  return Object.assign(callers, {
    [Symbol.dispose]() {
      for (const caller of callers) caller[Symbol.dispose]();
    },
  });
}

/** One request over REST, on a connection of its own. @returns its outcome, in a word. */
export async function createOnce(url: string, plant: TestPlant) {
  using caller = openCaller(restOverHttp1, url);
  return wordFor(await caller.create(plant, patienceMs));
}

export function wordFor(outcome: RequestOutcome): string {
  if (outcome.kind === "failed") return outcome.reason;
  return outcome.kind === "unknown" ? outcome.why : outcome.kind;
}

/**
 * If there is no answer this long after the deadline, there will be none: no machine is that busy.
 * This finds servers that hang until something ends.
 */
const overdueMs = 60_000;

function openCaller(protocol: RawProtocol, url: string, token = () => knownToken): Caller {
  const sender = openSender(protocol.version, url);
  return {
    protocol: protocol.name,
    async create(plant, deadlineMs, leave) {
      const patience = AbortSignal.timeout(deadlineMs + overdueMs);
      const signal = leave === undefined ? patience : AbortSignal.any([patience, leave]);
      const options = { authorization: `Bearer ${token()}`, timeoutMs: deadlineMs };
      const request = protocol.request(protocol.encode(plant), options);
      let response: HttpResponse;
      try {
        response = await sender.send({ ...request, signal });
      } catch {
        return { kind: "unknown", why: patience.aborted ? "unanswered" : "cut" };
      }
      try {
        return outcomeOf(protocol, response);
      } catch (error) {
        const text = response.body.toString("latin1", 0, 200);
        return { kind: "failed", reason: `${protocol.name}: ${error}: ${text}` };
      }
    },
    [Symbol.dispose]: () => sender[Symbol.dispose](),
  };
}

const outcomes: Readonly<Partial<Record<Code, RequestOutcome>>> = {
  [Code.AlreadyExists]: { kind: "taken" },
  [Code.InvalidArgument]: { kind: "invalid" },
  [Code.DeadlineExceeded]: { kind: "unknown", why: "deadline" },
  [Code.Unavailable]: { kind: "unknown", why: "unavailable" },
  [Code.Canceled]: { kind: "unknown", why: "cut" },
};

function outcomeOf(protocol: RawProtocol, response: HttpResponse): RequestOutcome {
  const outcome = protocol.read(response);
  if ("ok" in outcome) return { kind: "stored", answer: outcome.ok };
  const reason = `${Code[outcome.code]}: ${outcome.message}`;
  return outcomes[outcome.code] ?? { kind: "failed", reason };
}
