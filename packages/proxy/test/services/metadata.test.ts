/** Which headers cross a proxy. */
import type { HandlerContext } from "@connectrpc/connect";
import { createAccessLog } from "connect-gateway/logging";
import { describe, expect, test } from "vitest";
import {
  answerAtOnce,
  answerWith,
  grpcHead,
  openFakeServer,
  valuesOf,
} from "../../../gateway/test/client/fake-server.ts";
import type { Field } from "../../../gateway/test/differential/call.ts";
import { createHttp2Client } from "../../../gateway/test/differential/call.ts";
import { FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { json, versions } from "../../../gateway/test/support/catalog.ts";
import { openRawConnection } from "../../../gateway/test/support/raw-connection.ts";
import {
  addFields,
  createRequestMetadata,
  defaultRequestMetadata,
} from "../../src/services/metadata.ts";
import { proxyServices } from "../../src/services/services.ts";
import { openProxy, openProxyOf, type TestProxyOptions } from "./open-proxy.ts";

/** A proxy, and what its upstream was sent. */
async function openSeen(
  answer: (context: HandlerContext) => void = () => {},
  options: Omit<TestProxyOptions, "url"> = {},
) {
  const seen: Headers[] = [];
  const proxy = await openProxyOf((router) => {
    router.service(FieldService, {
      echo(message, context) {
        seen.push(context.requestHeader);
        answer(context);
        return message;
      },
    });
  }, options);
  return { ...proxy, seen };
}

const path = "/v1/fields";
const body = "{}";

/** Over HTTP/1.1, with these lines of headers. @returns the bytes of the answer, once it is closed. */
async function postRaw(port: number, ...fields: readonly string[]): Promise<string> {
  using raw = await openRawConnection(port);
  const head = [`POST ${path} HTTP/1.1`, "Host: a", "Content-Type: application/json", ...fields];
  raw.write(`${head.join("\r\n")}\r\nContent-Length: 2\r\n\r\n{}`);
  return (await raw.untilClosed()).toString();
}

describe.each(versions)("of a request over HTTP/%s,", (version) => {
  const hidden = {
    cookie: "session=1",
    forwarded: "for=10.0.0.1",
    via: "1.1 elsewhere",
    "x-forwarded-for": "10.0.0.1",
    "x-forwarded-host": "admin.internal",
    "x-forwarded-proto": "https",
    "x-forwarded-client-cert": "By=spiffe://a",
    "x-real-ip": "10.0.0.1",
    "x-envoy-internal": "true",
    "x-tenant": "a",
    "grpc-previous-rpc-attempts": "1",
    "grpc-tags-bin": "AAAA",
    "grpc-trace-bin": "AAAA",
    "proxy-authorization": "Basic YQ==",
    "user-agent": "curl/8",
  };
  const passed = {
    "accept-language": "de, en;q=0.5",
    authorization: "Bearer a.b.c",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    tracestate: "a=1",
    "x-request-id": "1",
  };

  test("who calls and its trace are passed on, and nothing else", async () => {
    await using proxy = await openSeen();
    const headers = { ...json, ...hidden, ...passed };
    expect(await proxy.send({ version, path, headers, body })).toMatchObject({ status: 200 });
    const [seen] = proxy.seen;
    expect(Object.fromEntries(seen ?? [])).toEqual({
      ...passed,
      "content-type": "application/grpc",
      "grpc-accept-encoding": "gzip",
      te: "trailers",
      "user-agent": "connect-gateway",
    });
  });

  test("what is listed, in whatever case, is passed on instead, with the caller's address behind others", async () => {
    const proxied = { requestMetadata: ["X-Tenant", "cookie", "x-forwarded-for"] };
    await using proxy = await openSeen(undefined, { exposePeerAddress: true, proxy: proxied });
    await proxy.send({ version, path, headers: { ...json, ...hidden, ...passed }, body });
    const [seen] = proxy.seen;
    const names = ["x-tenant", "cookie", "authorization", "x-forwarded-for"];
    const values = ["a", "session=1", null, "10.0.0.1, 127.0.0.1"];
    expect(names.map((name) => seen?.get(name))).toEqual(values);
  });

  test.each([
    ["token-bin", "not base64!"],
    ["token-bin", "AAAA,A"],
    ["token-bin", "AB="],
    ["x-name", "Zoë"],
    ["accept-language", "de,\ten"],
    ["x-request-id", "é"],
  ])("a value that gRPC cannot carry is left out, and counted: %s: %s", async (name, value) => {
    const dropped: string[] = [];
    const onDroppedMetadata = (one: string) => void dropped.push(one);
    const proxied = { requestMetadata: [name, "x-other"], onDroppedMetadata };
    await using proxy = await openSeen(undefined, { proxy: proxied });
    const headers = { ...json, [name]: value, "x-other": "1" };
    expect(await proxy.send({ version, path, headers, body })).toMatchObject({ status: 200 });
    expect(proxy.seen.map((seen) => [seen.get(name), seen.get("x-other")])).toEqual([[null, "1"]]);
    expect(dropped).toEqual([name]);
  });

  test.each(["a safe one", undefined, "é"])(
    "the upstream gets the id that the answer has, of a request with the id %s",
    async (given) => {
      const observer = createAccessLog({ write: () => {}, isErrorsOnly: false });
      await using proxy = await openSeen(undefined, { observer });
      const id = given?.replaceAll(" ", "-");
      const headers = id === undefined ? json : { ...json, "x-request-id": id };
      const told = (await proxy.send({ version, path, headers, body })).headers.get("x-request-id");
      expect(told).toMatch(given === "a safe one" ? /^a-safe-one$/ : /^[\da-f-]{36}$/);
      expect(proxy.seen[0]?.get("x-request-id")).toBe(told);
    },
  );

  test("of an answer, headers and trailers are passed on, but not those of its connection", async () => {
    await using proxy = await openSeen(({ responseHeader, responseTrailer }) => {
      responseHeader.set("x-region", "eu");
      responseHeader.set("etag-bin", "AP8B");
      for (const cookie of ["a=1", "b=2"]) responseHeader.append("set-cookie", cookie);
      responseHeader.set("connect-timeout-ms", "1");
      responseHeader.set("date", "yesterday");
      responseHeader.set("access-control-allow-origin", "*");
      responseHeader.set("alt-svc", 'h3=":443"');
      responseTrailer.set("x-cost", "3");
      responseTrailer.set("grpc-retry-pushback-ms", "-1");
    });
    const { status, headers } = await proxy.send({ version, path, headers: json, body });
    expect(status).toBe(200);
    const own = ["connection", "content-length", "content-type", "date", "keep-alive"];
    expect([...headers].filter(([name]) => !own.includes(name))).toEqual([
      ["etag-bin", "AP8B"],
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["trailer-grpc-retry-pushback-ms", "-1"],
      ["trailer-x-cost", "3"],
      ["x-region", "eu"],
    ]);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("date")).not.toBe("yesterday");
  });
});

describe("each value of bytes is a field of its own,", () => {
  const name = "x-id-bin";
  const values = ["AAE", "AP8B"];
  const several = { [name]: values };
  const apart = values.map((value): Field => [name, value]);

  test.each<[what: string, method: string, status: string]>([
    ["of a call", "Echo", "0"],
    ["of a call that fails", "Echo", "5"],
    ["of a stream", "Repeat", "0"],
    ["of a stream that fails", "Repeat", "5"],
  ])("%s: both ways, of headers and trailers", async (_what, method, status) => {
    const sent: unknown[] = [];
    const trailers = { "grpc-status": status, ...several };
    await using fake = await openFakeServer((stream, headers, raw) => {
      sent.push(valuesOf(raw, name));
      answerWith(trailers, { head: { ...grpcHead, ...several } })(stream, headers);
    });
    await using proxy = await openProxy({ url: fake.url, proxy: { requestMetadata: [name] } });
    await using caller = createHttp2Client(Number(new URL(proxy.origin("2")).port));
    const type = ["content-type", "application/grpc"] as const;
    const path = `/${FieldService.typeName}/${method}`;
    const body = [Buffer.alloc(5)];
    const request = { http: "2", method: "POST", path, headers: [type, ...apart], body } as const;
    const got = await caller.send(request, Promise.resolve());
    expect(sent).toEqual([values]);
    const fields = [...got.headers, ...got.trailers];
    expect(fields.filter((field) => field[0] === name)).toEqual([...apart, ...apart]);
  });

  test("of an error alone", async () => {
    const head = { ...grpcHead, "grpc-status": "5", ...several };
    await using fake = await openFakeServer(answerAtOnce(head));
    await using proxy = await openProxy({ url: fake.url });
    expect(await postRaw(proxy.port, "Connection: close")).toContain(
      "\r\nx-id-bin: AAE\r\nx-id-bin: AP8B\r\n",
    );
  });
});

test("a header that its sender says is of the connection goes no further", async () => {
  await using proxy = await openSeen();
  const nominated = "Connection: close, X-Request-Id";
  await postRaw(proxy.port, "X-Request-Id: 1", "Accept-Language: de", nominated);
  const [seen] = proxy.seen;
  expect([seen?.get("accept-language"), seen?.get("x-request-id")]).toEqual(["de", null]);
  const answer = new Headers();
  addFields(answer, new Headers({ connection: "close, X-Hop", "x-hop": "1", "x-end": "2" }));
  expect([...answer]).toEqual([["x-end", "2"]]);
});

test("a proxy without a transport does not start", () => {
  expect(() => proxyServices({ services: [] } as never)).toThrow("transport is missing");
});

test.each(["te", "Grpc-Timeout", "content-type", ":path", "a b", ""])("%j is refused", (name) => {
  const wrong = new TypeError(`requestMetadata: ${JSON.stringify(name)} cannot be passed on`);
  expect(() => createRequestMetadata([...defaultRequestMetadata, name])).toThrow(wrong);
});
