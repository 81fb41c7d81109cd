/** More headers or trailers than HTTP/2 can carry: code and message arrive, and the log says what does not. */
import http2 from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { NodeHeaders } from "../../src/http/headers.ts";
import { fitFields } from "../../src/http/headers.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { envelope } from "../support/envelope.ts";
import { openGateway } from "../support/gateway.ts";
import { exchangeOn } from "../support/http-exchange.ts";
import { grpcProtocol } from "../support/open-client.ts";

const long = "a".repeat(70_000);

function tooMuch(): ConnectError {
  const fieldViolations = [{ field: "string", description: long }];
  const details = [{ desc: BadRequestSchema, value: { fieldViolations } }];
  return new ConnectError("the reason", Code.FailedPrecondition, { "x-more": long }, details);
}

const open = () =>
  openGateway({
    mayFail: true,
    routes: (router) =>
      router.service(FieldService, {
        echo: () => Promise.reject(tooMuch()),
        async *repeat(message) {
          if (message.string === "late") yield message;
          throw tooMuch();
        },
      }),
  });

describe("over HTTP/2, an error that is too long keeps its code and message", () => {
  test.each(["unary", "early", "late"])("by gRPC: %s", async (when) => {
    await using gateway = await open();
    using caller = grpcProtocol.open(FieldService, gateway.origin("2"));
    const call = async () => {
      if (when === "unary") await caller.client.echo({});
      else for await (const _ of caller.client.repeat({ string: when }));
    };
    const error = await call().catch(ConnectError.from);
    expect(error).toMatchObject({ code: Code.FailedPrecondition, rawMessage: "the reason" });
    expect(gateway.errors).toMatchObject([
      { message: expect.stringMatching(/left out grpc-status-details-bin, x-more/) },
    ]);
  });

  test.each([
    ["Connect", "/library.v1.FieldService/Echo"],
    ["REST", "/v1/fields"],
  ])("by %s", async (_protocol, path) => {
    await using gateway = await open();
    const headers = { "content-type": "application/json" };
    const answer = await gateway.send({ version: "2", method: "POST", path, headers, body: "{}" });
    expect(answer.status).toBe(400);
    expect(answer.body.toString()).toContain("the reason");
    expect(gateway.errors).toMatchObject([{ message: expect.stringMatching(/left out x-more/) }]);
  });
});

test("over HTTP/2, what the client announces is the limit, of headers and of trailers", async () => {
  await using gateway = await openGateway({
    mayFail: true,
    routes: (router) =>
      router.service(FieldService, {
        async *repeat(message, { responseHeader, responseTrailer }) {
          responseHeader.set("x-more", "a".repeat(3000));
          responseTrailer.set("x-behind", "a".repeat(3000));
          yield message;
        },
      }),
  });
  const session = http2.connect(gateway.origin("2"), { settings: { maxHeaderListSize: 2000 } });
  const { headers, trailers } = await exchangeOn(session, {
    path: "/library.v1.FieldService/Repeat",
    headers: { "content-type": "application/grpc+json" },
    body: envelope("{}"),
  });
  session.destroy();
  expect([headers.get("x-more"), trailers.get("x-behind")]).toEqual([null, null]);
  expect(trailers.get("grpc-status")).toBe("0");
  expect(gateway.errors).toMatchObject([
    { message: expect.stringMatching(/left out x-more, x-behind$/) },
  ]);
});

/** Each field has its name, its value and 32 bytes. */
describe("of fields that are too long", () => {
  const status = { "grpc-status": "0", "grpc-message": "x".repeat(100) };
  const details = { "grpc-status-details-bin": "x" };
  test.each<[what: string, fields: NodeHeaders, bytesMax: number, omitted: string[]]>([
    ["nothing goes if they just fit", { a: "x", b: "yy" }, 69, []],
    ["no more go than must", { a: "x", b: "yy", c: "z" }, 68, ["b"]],
    ["the longest go, one after another", { a: "x", b: "yyy", c: "zz" }, 40, ["b", "c"]],
    ["details go first", { a: "x".repeat(100), ...details }, 188, ["grpc-status-details-bin"]],
    [
      "the longest goes behind details",
      { ...details, a: "xx", b: "y" },
      68,
      ["grpc-status-details-bin", "a"],
    ],
    ["a status never goes", { ...status, a: "x" }, 10, ["a"]],
    ["a status alone stays", status, 10, []],
    ["each value of a field counts", { a: ["x", "y"], b: "z" }, 101, ["a"]],
    ["a number has its digits", { a: 123, b: "y" }, 69, ["a"]],
    ["what is undefined has no length", { a: undefined, b: "y" }, 34, []],
  ])("%s", (_what, fields, bytesMax, omitted) => {
    const told: string[] = [];
    const fitting = fitFields(fields, bytesMax, (names) => told.push(names));
    const rest = Object.fromEntries(
      Object.entries(fields).filter(([name]) => !omitted.includes(name)),
    );
    expect(fitting).toEqual(rest);
    if (_what.startsWith("nothing")) expect(fitting).toBe(fields);
    expect(told).toEqual(omitted.length === 0 ? [] : [omitted.join(", ")]);
  });
});
