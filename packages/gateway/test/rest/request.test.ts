import { expect, test } from "vitest";
import { EveryScalarSchema } from "../gen/library/v1/fields_pb.ts";
import { describeMethods } from "../support/described-method.ts";
import { jsonOf, openGateway } from "../support/gateway.ts";

const headers = { "content-type": "application/json" };

/**
 * Sends scalars to a method whose body is one field of its request. Returns what reached the
 * method.
 */
async function sendScalars(path: string, body: string): Promise<unknown> {
  const methods = describeMethods(
    ["/v1/call", "/v1/{string}/call"].map((value, n) => ({
      name: `Call${n}`,
      input: EveryScalarSchema,
      output: EveryScalarSchema,
      rule: { pattern: { case: "post", value }, body: "child" },
    })),
  );
  await using gateway = await openGateway({
    routes: (router) => {
      for (const method of methods) router.rpc(method, ((request: unknown) => request) as never);
    },
  });
  const response = await gateway.send({ method: "POST", path, headers, body });
  return response.status === 200 ? jsonOf(response) : response.status;
}

test("a plain body is combined with path and query", async () => {
  const body = '{"int64":1}';
  const child = { int64: "1" };
  expect(await sendScalars("/v1/call", body)).toEqual({ child });
  expect(await sendScalars("/v1/call?int32=2", body)).toEqual({ child, int32: 2 });
  expect(await sendScalars("/v1/call?unknown=2", body)).toBe(400);
  expect(await sendScalars("/v1/a/call", body)).toEqual({ child, string: "a" });
  expect(await sendScalars("/v1/a/call?int32=2", body)).toEqual({ child, int32: 2, string: "a" });
});
