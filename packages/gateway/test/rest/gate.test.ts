/** What runs around a REST call, and what it sees: the same as around an RPC. */
import { setImmediate } from "node:timers/promises";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { createTestLibrary, openLibraryOf } from "../support/library.ts";
import { openRawConnection } from "../support/raw-connection.ts";

const headers = { "content-type": "application/json", "x-asked": "a" };
const rest = { method: "PUT", path: "/v1/library", headers, body: '{"displayName":"a"}' };

/** Takes its time. */
async function refuse(): Promise<never> {
  await setImmediate();
  throw new ConnectError("who are you", Code.Unauthenticated, { "www-authenticate": "Bearer" });
}

describe("the gate", () => {
  test.each([
    ["a header with a length", "Content-Length: 1000000"],
    ["a header with chunks", "Transfer-Encoding: chunked"],
    ["a length that is too large", "Content-Length: 1000000000"],
    ["another type", "Content-Type: text/plain\r\nContent-Length: 10"],
    ["another coding", "Content-Encoding: zstd\r\nContent-Length: 10"],
  ])("rejects before the first byte of the body has arrived: %s", async (_what, header) => {
    const library = createTestLibrary();
    const options = { requestGate: refuse, admit: () => expect.unreachable(), readMaxBytes: 1000 };
    await using gateway = await openLibraryOf(library, options);
    using connection = await openRawConnection(gateway.port);
    connection.write(`PUT /v1/library HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`);
    const received = await connection.until("the answer", (bytes) => bytes.includes("}"));
    const answer = received.toString();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toMatch(/^www-authenticate: Bearer\r$/im);
    expect(answer).toContain('{"code":16,"message":"who are you","details":[]}');
    expect(library.calls).toEqual([]);
  });

  test.each([
    ["another path", { path: "/v1/nothing" }, 404],
    ["another method", { path: "/v1/library", method: "POST" }, 405],
    ["a Host that is none", { ...rest, headers: { ...headers, host: "a/b" } }, 400],
  ])("is not called for %s", async (_what, request, status) => {
    const requestGate = () => expect.unreachable();
    await using gateway = await openLibraryOf(createTestLibrary(), { requestGate });
    expect(await gateway.send(request)).toMatchObject({ status });
  });
});

test.each(["1.1", "2"] as const)("the context has the protocol, over HTTP/%s", async (version) => {
  const library = createTestLibrary();
  const gated: HandlerContext[] = [];
  await using gateway = await openLibraryOf(library, {
    requestGate: (context) => void gated.push(context),
  });
  await gateway.send({ ...rest, version, path: "/v1/library?" });
  const host = gateway.origin(version).replace("http://", "");
  const expected = {
    protocolName: "rest",
    requestMethod: "PUT",
    url: `http://${host}/v1/library?`,
    service: LibraryService,
    method: LibraryService.method.updateLibrary,
  };
  for (const context of [gated[0], library.calls[0]?.context]) {
    expect(context).toMatchObject(expected);
    expect(context?.requestHeader.get("x-asked")).toBe("a");
    expect(context?.timeoutMs()).toBeUndefined();
  }
});
