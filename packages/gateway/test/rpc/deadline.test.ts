import type { HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { clampDeadline } from "../../src/rpc/deadline.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { envelope } from "../support/envelope.ts";
import { openGateway } from "../support/gateway.ts";

/** The longest delay of a timer. */
const max = 2147483647;

describe("a deadline is limited to what a timer can hold:", () => {
  const rows: readonly [header: string, value: string, clamped: string][] = [
    ["connect-timeout-ms", "0", "0"],
    ["connect-timeout-ms", "1000", "1000"],
    ["connect-timeout-ms", "999999999", "999999999"],
    ["connect-timeout-ms", `${max}`, `${max}`],
    ["connect-timeout-ms", `${max + 1}`, `${max}`],
    ["connect-timeout-ms", "9999999999", `${max}`],
    ["connect-timeout-ms", "0000000001", "0000000001"],
    ["grpc-timeout", "0n", "0n"],
    ["grpc-timeout", "99999999n", "99999999n"],
    ["grpc-timeout", "99999999u", "99999999u"],
    ["grpc-timeout", "99999999m", "99999999m"],
    ["grpc-timeout", "1S", "1S"],
    ["grpc-timeout", "2147483S", "2147483S"],
    ["grpc-timeout", "2147484S", "2147483S"],
    ["grpc-timeout", "99999999S", "2147483S"],
    ["grpc-timeout", "35791M", "35791M"],
    ["grpc-timeout", "35792M", "2147483S"],
    ["grpc-timeout", "99999999M", "2147483S"],
    ["grpc-timeout", "596H", "596H"],
    ["grpc-timeout", "597H", "2147483S"],
    ["grpc-timeout", "99999999H", "2147483S"],
  ];

  test.each(rows)("%s: %s -> %s", (header, value, clamped) => {
    const headers = { [header]: value };
    clampDeadline(headers);
    expect(headers).toEqual({ [header]: clamped });
  });
});

describe("an invalid deadline is unchanged, so that its protocol rejects it:", () => {
  const rows: readonly [header: string, value: string][] = [
    ["connect-timeout-ms", ""],
    ["connect-timeout-ms", "-9999999999"],
    ["connect-timeout-ms", "99999999999"], // eleven digits
    ["connect-timeout-ms", "9999999999.5"],
    ["connect-timeout-ms", "1e99"],
    ["connect-timeout-ms", "9999999999, 9999999999"],
    ["connect-timeout-ms", "Infinity"],
    ["grpc-timeout", ""],
    ["grpc-timeout", "H"],
    ["grpc-timeout", "999999999H"], // nine digits
    ["grpc-timeout", "99999999h"],
    ["grpc-timeout", "99999999"],
    ["grpc-timeout", "-99999999H"],
    ["grpc-timeout", "99999999H "],
    ["grpc-timeout", "99999999H, 1S"],
  ];

  test.each(rows)("%s: %j", (header, value) => {
    const headers = { [header]: value };
    clampDeadline(headers);
    expect(headers).toEqual({ [header]: value });
  });

  test("no header stays no header", () => {
    const headers = { "content-type": "application/json" };
    clampDeadline(headers);
    expect(headers).toEqual({ "content-type": "application/json" });
  });
});

describe("a call with a very long deadline", () => {
  const json = { "content-type": "application/json" };
  const grpc = { "content-type": "application/grpc+json", te: "trailers" };
  const path = "/library.v1.FieldService/Echo";
  const rows = [
    ["Connect", { path, headers: { ...json, "connect-timeout-ms": "9999999999" }, body: "{}" }],
    ["gRPC", { path, headers: { ...grpc, "grpc-timeout": "99999999H" }, body: envelope("{}") }],
    [
      "gRPC-Web",
      {
        path,
        headers: { "content-type": "application/grpc-web+json", "grpc-timeout": "99999999H" },
        body: envelope("{}"),
      },
    ],
  ] as const;

  test.each(rows)("over %s continues", async (_protocol, request) => {
    const remaining: (number | undefined)[] = [];
    await using gateway = await openGateway({
      routes: (router) => {
        router.service(FieldService, {
          echo(message, { timeoutMs }: HandlerContext) {
            remaining.push(timeoutMs());
            return message;
          },
        });
      },
    });
    const { status } = await gateway.send({ version: "2", ...request });
    expect(status).toBe(200);
    // One that a timer cannot hold would expire at once.
    const [timeoutMs = 0] = remaining;
    expect(timeoutMs).toBeLessThanOrEqual(max);
    expect(timeoutMs).toBeGreaterThan(max - 60_000);
  });
});
