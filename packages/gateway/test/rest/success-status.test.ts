import { describe, expect, test } from "vitest";
import {
  askCatalogOf,
  type Catalog,
  get,
  openCatalogOf,
  send,
  versions,
} from "../support/catalog.ts";
import { jsonOf, type SentRequest } from "../support/gateway.ts";

const service = "library.v1.CatalogService";

const catalog: Catalog = {
  createVolume(_request, { responseHeader }) {
    responseHeader.set("location", "/v1/shelves/a/volumes/1");
    responseHeader.set("content-type", "text/html");
    return { title: "Dune" };
  },
  getVolume: () => ({ title: "Dune" }),
  async importVolumes(requests) {
    for await (const _ of requests);
    return { count: 2n };
  },
  async *watchVolumes() {
    yield { title: "Dune" };
  },
};

const calls: Readonly<Record<string, SentRequest>> = {
  CreateVolume: send("POST", "/v1/shelves/a/volumes", {}),
  GetVolume: get("/v1/shelves/a/volumes/1"),
  ImportVolumes: send("POST", "/v1/shelves/a/volumes:import", []),
  WatchVolumes: get("/v1/shelves/a/volumes:watch"),
};

describe.each(versions)("over HTTP/%s", (version) => {
  const rows = Object.keys(calls).flatMap((method) => {
    const statuses = method === "WatchVolumes" ? [201, 299] : [201, 204, 205, 299];
    return statuses.map((status) => [method, status] as const);
  });

  test.each(rows)("%s answers success with %s", async (method, status) => {
    const statuses = { [`${service}.${method}`]: status };
    const request = { version, ...(calls[method] ?? expect.unreachable()) };
    const response = await askCatalogOf(catalog, request, { rest: { statuses } });
    expect(response.status).toBe(status);
    if (method === "CreateVolume") {
      expect(response.headers.get("location")).toBe("/v1/shelves/a/volumes/1");
    }
    const isBodiless = status === 204 || status === 205;
    expect(response.body.length === 0).toBe(isBodiless);
    if (isBodiless) expect(response.headers.has("content-type")).toBe(false);
    if (status === 204) expect(response.headers.has("content-length")).toBe(false);
  });

  test("other methods, and failures, keep their status", async () => {
    const statuses = { [`${service}.CreateVolume`]: 201 };
    await using gateway = await openCatalogOf(catalog, { rest: { statuses } });
    const { GetVolume = get("") } = calls;
    expect(await gateway.send({ version, ...GetVolume })).toMatchObject({ status: 200 });
    const bad = send("POST", "/v1/shelves/a/volumes", { isbn: 1 });
    expect(await gateway.send({ version, ...bad })).toMatchObject({ status: 400 });
    const rpc = { path: `/${service}/CreateVolume`, headers: bad.headers ?? {}, body: "{}" };
    const response = await gateway.send({ version, ...rpc });
    expect(response.status).toBe(200);
    expect(jsonOf(response)).toEqual({ title: "Dune" });
  });
});

describe("startup fails for", () => {
  test.each<[selector: string, status: number, reason: string]>([
    ["Nothing", 201, "REST serves no method of that name"],
    ["CreateVolume", 199, "199 is no status of success"],
    ["CreateVolume", 206, "206 is no status of success"],
    ["CreateVolume", 300, "300 is no status of success"],
    ["CreateVolume", 201.5, "201.5 is no status of success"],
    ["WatchVolumes", 204, "204 has no body, and the method answers a stream"],
    ["StreamVolume", 205, "205 has no body, and the method answers a stream"],
    ["ListVolumes", 201, "REST serves no method of that name"],
  ])("%s: %s", (method, status, reason) => {
    const statuses = { [`${service}.${method}`]: status };
    const rules = [{ selector: `${service}.ListVolumes` }]; // without a pattern
    expect(() => openCatalogOf(catalog, { rest: { rules, statuses } })).toThrow(
      `rest.statuses["${service}.${method}"]: ${reason}`,
    );
  });
});
