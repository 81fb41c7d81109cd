/** What is wrong with the content of a request of REST: a 4xx with the error body, never a 5xx. */
import { describe, expect, test } from "vitest";
import type { HttpVersion } from "../../packages/gateway/test/support/exchange.ts";
import { bodyBytesMax, rows } from "../support/malformed/rest.ts";
import { postPlant } from "../support/plant-request.ts";
import { expectRestError } from "../support/rest-error.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import { useTestServer } from "../support/use-test-server.ts";

describe.each<HttpVersion>(["1.1", "2"])("over HTTP/%s", (version) => {
  const server = useTestServer({ limits: { bodyBytesMax } });

  test.each(rows)(
    "refuses $what",
    async ({ body = "", path = "/plants", headers = {}, ...row }) => {
      const before = readStoredPlants(server.database);
      const response = await postPlant(server.url, { version, body, path, headers });
      expect(response.status).toBe(row.status);
      expectRestError(response, row);
      expect(readStoredPlants(server.database)).toEqual(before);
      // The next good one is answered.
      const good = await postPlant(server.url, { version, body: '{"id":1000,"name":"Basil"}' });
      expect(good.body.toString()).toBe('{"name":"Basil"}');
    },
  );
});
