import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { drainingSignal } from "../../src/rpc/own-services.ts";

describe("a draining signal", () => {
  const own = new ConnectError("over", Code.Aborted);
  const shutDown = { code: Code.Unavailable, rawMessage: "the server is shutting down" };

  test.each([
    ["an error for clients", own, own],
    ["another error", new Error("no"), { ...shutDown, cause: new Error("no") }],
    ["none", undefined, shutDown],
  ])("aborts with the one given, and a reason that is %s", (_what, given, reason) => {
    const controller = new AbortController();
    const signal = drainingSignal(controller.signal);
    expect(signal.aborted).toBe(false);
    controller.abort(given);
    expect(signal.reason).toMatchObject(reason);
    expect(drainingSignal(controller.signal).reason).toMatchObject(reason);
  });

  test("never aborts without one", () => {
    expect(drainingSignal(undefined).aborted).toBe(false);
  });
});
