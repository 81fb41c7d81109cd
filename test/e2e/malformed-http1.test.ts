/** What is wrong with HTTP/1.1 itself, byte by byte: a 4xx with the error body, and the door stays open. */
import { expect, test } from "vitest";
import { parseHttp1Responses } from "../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../packages/gateway/test/support/raw-connection.ts";
import { bodyBytesMax, plant, rows } from "../support/malformed/http1.ts";
import { postPlant } from "../support/plant-request.ts";
import { expectRestError } from "../support/rest-error.ts";
import { useTestServer } from "../support/use-test-server.ts";

const server = useTestServer({ limits: { bodyBytesMax } });

test.each(rows)("over HTTP/1.1 refuses %s", async (_what, bytes, status, error) => {
  using connection = await openRawConnection(server.port);
  connection.write(bytes);
  const [response, ...more] = parseHttp1Responses(await connection.untilClosed());
  expect(more).toEqual([]);
  expect([response?.status, response?.headers.get("connection")]).toEqual([status, "close"]);
  const { headers = [], body = "" } = response ?? {};
  expectRestError({ headers: new Headers([...headers]), body }, { error });
  expect((await postPlant(server.url, { body: plant })).body.toString()).toBe('{"name":"Basil"}');
});
