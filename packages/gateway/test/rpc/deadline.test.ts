import { once } from "node:events";
import http2 from "node:http2";
import { expect, test } from "vitest";
import { openFields } from "../support/echo.ts";
import { openTestService } from "../support/test-service.ts";
import { within } from "../support/within.ts";

/** The longest delay of a timer. */
const max = 2147483647;

/** That of gRPC is compared with connect-es by test/differential. */
test("a call of Connect with a very long deadline continues", async () => {
  const remaining: (number | undefined)[] = [];
  await using gateway = await openFields({
    echo(message, { timeoutMs }) {
      remaining.push(timeoutMs());
      return message;
    },
  });
  const path = "/library.v1.FieldService/Echo";
  const headers = { "content-type": "application/json", "connect-timeout-ms": "9999999999" };
  expect(await gateway.send({ path, headers, body: "{}" })).toMatchObject({ status: 200 });
  // One that a timer cannot hold would expire at once.
  const [timeoutMs = 0] = remaining;
  expect(timeoutMs).toBeLessThanOrEqual(max);
  expect(timeoutMs).toBeGreaterThan(max - 60_000);
});

test.each(["CreateVolume", "WatchVolumes"])(
  "a call of %s whose message does not come ends at its deadline",
  async (method) => {
    await using server = await openTestService();
    const session = http2.connect(server.origin);
    const stream = session.request({
      ...{ ":method": "POST", ":path": `/library.v1.CatalogService/${method}` },
      ...{ "content-type": "application/grpc", te: "trailers", "grpc-timeout": "50m" },
    });
    stream.resume();
    const [end] = await within("the answer", once(stream, "response"));
    // Not by the time limit of requests, which comes later.
    expect(end["grpc-message"]).toBe("the operation timed out");
    session.destroy();
  },
);

test.each(["/v1/fields", "/library.v1.FieldService/Echo"])(
  "a call of %s whose gate hangs ends at its deadline",
  async (path) => {
    await using gateway = await openFields({}, { requestGate: () => new Promise(() => {}) });
    const headers = { "content-type": "application/json", "connect-timeout-ms": "50" };
    const answer = within("the answer", gateway.send({ path, headers, body: "{}" }));
    expect(await answer).toMatchObject({ status: 504 });
  },
);

test.each(["", "-1", "1.5", "soon", "12345678901", "9".repeat(300), "0"])(
  "the deadline %j is rejected, by REST and Connect",
  async (timeout) => {
    await using gateway = await openFields();
    for (const path of ["/v1/fields", "/library.v1.FieldService/Echo"]) {
      const headers = { "content-type": "application/json", "connect-timeout-ms": timeout };
      const status = timeout === "0" ? 504 : 400; // it has passed
      const answer = await gateway.send({ path, headers, body: "{}" });
      expect(answer).toMatchObject({ status });
      expect(answer.body.length).toBeLessThan(300);
    }
  },
);
