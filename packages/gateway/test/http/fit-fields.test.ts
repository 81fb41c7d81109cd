/** More headers or trailers than HTTP/2 can carry: code and message arrive, and the log says what does not. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { openGateway } from "../support/gateway.ts";
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

async function* none(_messages: AsyncIterable<unknown>) {
  for await (const _ of _messages) yield _;
}

describe("over HTTP/2, an error that is too long keeps its code and message", () => {
  test.each(["unary", "early", "late"])("by gRPC: %s", async (when) => {
    await using gateway = await open();
    using caller = grpcProtocol.open(FieldService, gateway.origin("2"));
    const call = async () => {
      if (when === "unary") await caller.client.echo({});
      else for await (const _ of none(caller.client.repeat({ string: when })));
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
