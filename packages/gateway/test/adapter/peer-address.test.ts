import { expect, test } from "vitest";
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

test.each(calls)(
  "%s shows the gate the caller's address if that is enabled",
  async (_, request) => {
    expect(await addressSeen(request, { exposePeerAddress: true })).toEqual(["127.0.0.1"]);
    expect(await addressSeen(request, {})).toEqual([undefined]);
  },
);

test.skipIf(!hasIpv6).each(calls)("%s, on a socket for both, as IPv4", async (_, request) => {
  const options = { exposePeerAddress: true, host: "::" };
  expect(await addressSeen(request, options)).toEqual(["127.0.0.1"]);
});
