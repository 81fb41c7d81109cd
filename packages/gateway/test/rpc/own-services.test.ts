import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createStreamLimit, drainingSignal, servicesOf } from "../../src/rpc/own-services.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";

test("each service of a router is named once", () => {
  const router = createConnectRouter().service(FieldService, {}).service(LibraryService, {});
  expect(servicesOf(router)).toEqual([FieldService, LibraryService]);
});

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

test("streams over the limit are refused until another ends", () => {
  const enter = createStreamLimit(2, "too many");
  const [one, two, three] = [new AbortController(), new AbortController(), new AbortController()];
  enter(one.signal);
  enter(two.signal);
  const refusal = { code: Code.ResourceExhausted, rawMessage: "too many" };
  expect(() => enter(three.signal)).toThrow(expect.objectContaining(refusal));
  one.abort();
  enter(three.signal);
  expect(() => enter(new AbortController().signal)).toThrow(expect.objectContaining(refusal));
});
