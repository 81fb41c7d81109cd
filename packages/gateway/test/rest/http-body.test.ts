import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.ts";
import { getHttpBody, isHttpBody, setHttpBody } from "../../src/rest/rule/http-body.ts";
import { sendHeaders } from "../../src/rpc/call.ts";
import { createCatalog } from "../catalog-server.ts";
import type { UploadVolumeRequest } from "../gen/library/v1/catalog_pb.ts";
import { type Catalog, openShelves, versions } from "../support/catalog.ts";
import { jsonOf } from "../support/gateway.ts";

const body = { contentType: "image/png", data: new Uint8Array([0, 255, 10]) };

test("the whole message receives it and returns it", () => {
  const message = create(HttpBodySchema, { contentType: "text/plain" });
  setHttpBody(HttpBodySchema, message, "*", body);
  expect(getHttpBody(HttpBodySchema, message, undefined)).toBe(message);
  expect(message).toMatchObject(body);
  expect(isHttpBody(HttpBodySchema, "*")).toBe(true);
});

describe.each(versions)("google.api.HttpBody over HTTP/%s:", (version) => {
  const every = Uint8Array.from({ length: 5000 }, (_, i) => i % 256);
  const volume = "/v1/shelves/a/volumes/1";

  async function openOne() {
    const catalog = createCatalog();
    const streamVolume: Catalog["streamVolume"] = async function* (request, context) {
      sendHeaders(context); // for nothing: the first message has the type
      yield* catalog.streamVolume(request, context);
    };
    const gateway = await openShelves({ ...catalog, streamVolume });
    const headers = { "content-type": "application/json" };
    await gateway.send({ path: "/v1/shelves/a/volumes", headers, body: '{"id":1}' });
    return gateway;
  }

  test.each<[what: string, contentType: string, data: Uint8Array]>([
    ["every byte", "application/octet-stream", every],
    ["JSON as it is", "application/json", Buffer.from('{ "a" : 1.0 }')],
  ])("%s is passed through both ways, whole or in pieces", async (_what, contentType, data) => {
    const uploads = [
      { method: "PUT", path: `${volume}:upload` },
      { method: "POST", path: `${volume}:append` },
    ];
    for (const upload of uploads) {
      await using gateway = await openOne();
      const headers = { "content-type": contentType };
      const answer = await gateway.send({ version, ...upload, headers, body: data });
      expect(jsonOf(answer)).toEqual({ name: "shelves/a/volumes/1", id: "1" });
      for (const verb of ["download", "stream"]) {
        const response = await gateway.send({ version, method: "GET", path: `${volume}:${verb}` });
        expect(response.status).toBe(200);
        expect(response.headers.get("content-type")).toBe(contentType);
        expect(response.body.equals(data)).toBe(true);
      }
    }
  });

  test("an empty body is a body", async () => {
    await using gateway = await openOne();
    const headers = { "content-type": "text/plain" };
    const path = `${volume}:upload`;
    const { status } = await gateway.send({ version, method: "PUT", path, headers });
    expect(status).toBe(200);
    const response = await gateway.send({ version, method: "GET", path: `${volume}:download` });
    expect(response.headers.get("content-type")).toBe("text/plain");
    expect(response.body).toHaveLength(0);
  });

  test.each(["download", "stream"])("%s: an unset body has no type, errors JSON", async (verb) => {
    await using gateway = await openOne();
    const unset = await gateway.send({ version, method: "GET", path: `${volume}:${verb}` });
    expect(unset.status).toBe(200);
    expect(unset.headers.get("content-type")).toBeNull();
    expect(unset.body).toHaveLength(0);
    const path = `/v1/shelves/a/volumes/2:${verb}`;
    const response = await gateway.send({ version, method: "GET", path });
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(jsonOf(response)).toMatchObject({ code: Code.NotFound });
  });

  test("a body without a type has none, and is within any limit", async () => {
    const received: UploadVolumeRequest[] = [];
    const catalog: Catalog = {
      uploadVolume(request) {
        received.push(request);
        return {};
      },
    };
    await using gateway = await openShelves(catalog, { readMaxBytes: 10 });
    const upload = { version, method: "PUT", path: `${volume}:upload` };
    expect(await gateway.send({ ...upload, body: "0123456789" })).toMatchObject({ status: 200 });
    expect(await gateway.send({ ...upload, body: "0123456789a" })).toMatchObject({ status: 413 });
    expect(received).toMatchObject([{ name: "shelves/a/volumes/1", content: { contentType: "" } }]);
    expect(Buffer.from(received[0]?.content?.data ?? []).toString()).toBe("0123456789");
  });

  test("each piece has the name and the type", async () => {
    const received: UploadVolumeRequest[] = [];
    await using gateway = await openShelves({
      async appendVolume(requests) {
        for await (const request of requests) received.push(request);
        return {};
      },
    });
    const headers = { "content-type": "image/png" };
    const body = Buffer.alloc(300_000, 7);
    await gateway.send({ version, path: `${volume}:append`, headers, body });
    expect(received.length).toBeGreaterThan(1);
    for (const { name, content } of received) {
      expect([name, content?.contentType]).toEqual(["shelves/a/volumes/1", "image/png"]);
    }
    const pieces = received.map(({ content }) => content?.data ?? Buffer.of());
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
  });

  test("a content type that is not a valid header is an internal error", async () => {
    const downloadVolume = () => ({ contentType: "text/plain\r\nx-evil: 1" });
    await using gateway = await openShelves({ downloadVolume }, { mayFail: true });
    const response = await gateway.send({ version, method: "GET", path: `${volume}:download` });
    expect(response.status).toBe(500);
    expect(response.headers.get("x-evil")).toBeNull();
  });
});
