import { describe, expect, test } from "vitest";
import { peerAddressKey } from "../../src/index.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { openGateway, type SentRequest, type TestGatewayOptions } from "../support/gateway.ts";
import { hasIpv6 } from "../support/has-ipv6.ts";
import { createTestLibrary } from "../support/library.ts";

const headers = { "content-type": "application/json" };
const unary = { method: "PUT", path: "/v1/library", headers, body: '{"displayName":"a"}' };
const rpc = { ...unary, method: "POST", path: "/library.v1.LibraryService/UpdateLibrary" };

const calls: readonly [string, SentRequest][] = [
  ["REST over HTTP/1.1", unary],
  ["REST over HTTP/2", { ...unary, version: "2" }],
  ["Connect over HTTP/1.1", rpc],
  ["Connect over HTTP/2", { ...rpc, version: "2" }],
];

/** What the gate sees of the caller. */
async function addressSeen(request: SentRequest, options: Partial<TestGatewayOptions>) {
  const seen: unknown[] = [];
  await using gateway = await openGateway({
    ...options,
    requestGate: ({ values }) => void seen.push(values.get(peerAddressKey)),
    routes: (router) => router.service(LibraryService, createTestLibrary()),
  });
  await gateway.send(request);
  return seen;
}

describe.each(calls)("%s", (_name, request) => {
  test("shows the gate the caller's address if it is enabled", async () => {
    expect(await addressSeen(request, { exposePeerAddress: true })).toEqual(["127.0.0.1"]);
  });

  test.skipIf(!hasIpv6)("shows an address of IPv4 as such on a socket for both", async () => {
    const options = { exposePeerAddress: true, host: "::" };
    expect(await addressSeen(request, options)).toEqual(["127.0.0.1"]);
  });

  test("does not if it is disabled", async () => {
    expect(await addressSeen(request, {})).toEqual([undefined]);
  });
});
