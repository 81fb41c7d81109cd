/** When a client may try again. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { get, openCatalogOf } from "../support/catalog.ts";

describe("Retry-After", () => {
  const delay = (seconds: bigint, nanos = 0) => ({ retryDelay: { seconds, nanos } });
  const failure = (code: Code, value: MessageInitShape<typeof RetryInfoSchema>, metadata = {}) =>
    new ConnectError("", code, metadata, [{ desc: RetryInfoSchema, value }]);

  test.each<[error: ConnectError, retryAfter: string | null]>([
    [failure(Code.Unavailable, delay(7n)), "7"],
    [failure(Code.Unavailable, delay(7n, 1)), "8"],
    [failure(Code.ResourceExhausted, delay(2n)), "2"],
    [new ConnectError("", Code.Unavailable), "1"],
    [failure(Code.Unavailable, delay(7n), { "retry-after": "9" }), "9"],
    [failure(Code.Unavailable, {}), "1"],
    [new ConnectError("", Code.ResourceExhausted), null],
  ])("%o: %s", async (error, retryAfter) => {
    await using gateway = await openCatalogOf({ getVolume: () => Promise.reject(error) });
    const response = await gateway.send(get("/v1/volumes/1"));
    expect(response.headers.get("retry-after")).toBe(retryAfter);
  });
});
