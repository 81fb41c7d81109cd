/** Several observers are notified like a single one, independently of each other. */
import { Code, createContextValues } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { CallObserver, ObservedRequest } from "../../src/index.ts";
import { composeObservers } from "../../src/index.ts";

const request: ObservedRequest = {
  method: undefined,
  pathTemplate: undefined,
  protocol: "rest",
  requestMethod: "GET",
  target: "/",
  headers: {},
  peerAddress: () => undefined,
};

const throwAtOnce = (error: unknown): never => {
  throw error;
};
const fail = () => throwAtOnce(new Error("broken"));

/** Records its notifications. */
function recordTold(name: string, told: string[]): CallObserver {
  return {
    begin({ target }) {
      told.push(`${name} begins ${target}`);
      return {
        responseHeader: { [name]: "yes", last: name },
        calling: (values) => void told.push(`${name} hears of ${typeof values}`),
        end: ({ code }) => void told.push(`${name} ends ${code}`),
      };
    },
  };
}

test("all are notified, in order", () => {
  const told: string[] = [];
  const two = [recordTold("a", told), recordTold("b", told)];
  const observation = composeObservers(two, throwAtOnce)?.begin(request);
  observation?.calling?.(createContextValues());
  observation?.end({ code: Code.Aborted, error: undefined, status: 409 });
  expect(told).toEqual([
    "a begins /",
    "b begins /",
    "a hears of object",
    "b hears of object",
    `a ends ${Code.Aborted}`,
    `b ends ${Code.Aborted}`,
  ]);
  expect(observation?.responseHeader).toEqual({ a: "yes", b: "yes", last: "b" });
});

test.each<[string, CallObserver]>([
  ["fails at the beginning", { begin: fail }],
  ["fails at the call", { begin: () => ({ calling: fail, end: () => {} }) }],
  ["fails at the end", { begin: () => ({ end: fail }) }],
])("one that %s does not affect the others", (_, broken) => {
  const told: string[] = [];
  const errors: unknown[] = [];
  const observers = [recordTold("a", told), broken, recordTold("b", told)];
  const observer = composeObservers(observers, (error) => errors.push(error));
  const observation = observer?.begin(request);
  observation?.calling?.(createContextValues());
  observation?.end({ code: undefined, error: undefined, status: 200 });
  expect(told).toHaveLength(6);
  expect(errors).toEqual([new Error("broken")]);
});

test("one that ignores a request is not called for it again", () => {
  const none: CallObserver = { begin: () => undefined };
  const observation = composeObservers([none, none], throwAtOnce)?.begin(request);
  expect(observation?.responseHeader).toBeUndefined();
  observation?.end({ code: undefined, error: undefined, status: 200 });
});

test("a single observer is returned as it is, and none gives none", () => {
  const one: CallObserver = { begin: () => undefined };
  expect(composeObservers([one], throwAtOnce)).toBe(one);
  expect(composeObservers([], throwAtOnce)).toBeUndefined();
});
