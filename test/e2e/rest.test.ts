/** REST as a client of plain HTTP sees it: status, headers, and the exact bytes. */
import { describe, expect, test } from "vitest";
import type { HttpVersion } from "../../packages/gateway/test/support/exchange.ts";
import { postPlant } from "../support/plant-request.ts";
import { useTestServer } from "../support/use-test-server.ts";

describe.each<HttpVersion>(["1.1", "2"])("POST /plants over HTTP/%s", (version) => {
  const server = useTestServer();

  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    postPlant(server.url, { version, headers, body });

  test.each([
    ['{"id":1,"name":"Basil","tag":"herb"}', '{"name":"Basil","tag":"herb"}'],
    ['{"id":2,"name":"Basil"}', '{"name":"Basil"}'],
    ['{"id":3,"name":"Basil","tag":null}', '{"name":"Basil"}'],
    ['{"id":4,"name":"Basil","tag":""}', '{"name":"Basil","tag":""}'],
    ['\t\r\n {"id" : 6 , "name" : "B"} \n', '{"name":"B"}'],
    ['{"id":8,"name":"\\ud83c\\udf31 é \\/ \\u001f"}', '{"name":"🌱 é / \\u001f"}'],
  ])("answers %j with exactly %j", async (body, expected) => {
    const response = await post(body);
    expect(response.status).toBe(200);
    expect(response.body.toString("utf8")).toBe(expected);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(expected)));
  });
});
