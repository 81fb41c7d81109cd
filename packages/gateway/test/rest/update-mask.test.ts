/** PATCH: the mask of the fields in a body. */
import type { DescMessage } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { updateMaskOf } from "../../src/rest/request/update-mask.ts";
import { type Binding, bindingsOf } from "../../src/rest/rule/rule.ts";
import {
  CreateVolumeRequestSchema,
  type UpdateVolumeRequest,
  UpdateVolumeRequestSchema,
} from "../gen/library/v1/catalog_pb.ts";
import { askCatalogOf, versions } from "../support/catalog.ts";
import { describeMethod, type Rule } from "../support/described-method.ts";
import { jsonOf, type TestGatewayOptions } from "../support/gateway.ts";

describe("a mask is filled", () => {
  const patch = { pattern: { case: "patch", value: "/v1/a" }, body: "volume" } as const;

  test.each<[what: string, rule: Rule, isFilled: boolean, input?: DescMessage]>([
    ["of a PATCH whose body is a message", patch, true],
    ["not of a PUT", { ...patch, pattern: { case: "put", value: "/v1/a" } }, false],
    ["not if the body is the whole", { ...patch, body: "*" }, false],
    ["not if the body is the mask", { ...patch, body: "update_mask" }, false],
    ["not if there is none", patch, false, CreateVolumeRequestSchema],
  ])("%s", (_what, rule, isFilled, input = UpdateVolumeRequestSchema) => {
    const [binding] = bindingsOf(describeMethod(input, rule));
    expect(updateMaskOf(input, binding as Binding) !== undefined).toBe(isFilled);
  });
});

const path = "/v1/shelves/a/volumes/1";
const merge = "application/merge-patch+json";
const json = "application/json";

describe.each(versions)("over HTTP/%s, PATCH", (version) => {
  async function patch(
    { query = "", type, body }: { query?: string; type: string; body: string },
    options: Partial<TestGatewayOptions> = {},
  ) {
    const received: UpdateVolumeRequest[] = [];
    const updateVolume = (request: UpdateVolumeRequest) => {
      received.push(request);
      return {};
    };
    const headers = { "content-type": type };
    const request = { version, method: "PATCH", path: path + query, headers, body };
    const response = await askCatalogOf({ updateVolume }, request, options);
    return { response, paths: received[0]?.updateMask?.paths, volume: received[0]?.volume };
  }

  test.each<[sent: Parameters<typeof patch>[0], paths: readonly string[] | undefined]>([
    [{ type: json, body: '{"title":"a"}' }, ["title"]],
    [{ type: merge, body: '{"title":null,"id":"2"}' }, ["title", "id"]],
    // The path sets it, and a service may reject changing it.
    [{ type: json, body: '{"name":"shelves/a/volumes/1","id":1}' }, ["id"]],
    [{ query: "?update_mask=title", type: json, body: '{"id":1}' }, ["title"]],
    [{ query: "?updateMask=", type: json, body: '{"id":1}' }, ["id"]],
    [{ type: json, body: "{}" }, undefined],
  ])("%j: %j", async (sent, paths) => {
    const { response, paths: found, volume } = await patch(sent);
    expect(response.status).toBe(200);
    expect(found).toEqual(paths);
    expect(volume?.name).toBe("shelves/a/volumes/1");
  });

  test.each<[what: string, type: string, body: string, status: number]>([
    ["a patch that is a list", merge, "[]", 400],
    ["a patch with an unknown member", merge, '{"isbn":null}', 400],
    ["a patch in another charset", `${merge}; charset=latin1`, "{}", 415],
    ["a patch of another kind", "application/json-patch+json", "[]", 415],
  ])("rejects %s", async (_what, type, body, status) => {
    const { response } = await patch({ type, body });
    expect(response.status).toBe(status);
    expect(jsonOf(response)).toMatchObject({ code: Code.InvalidArgument });
    if (status === 415) expect(response.headers.get("accept")).toBe(`${json}, ${merge}`);
  });

  test("does neither with fillUpdateMask: false", async () => {
    const options = { rest: { fillUpdateMask: false } };
    const { paths } = await patch({ type: json, body: '{"title":"a"}' }, options);
    expect(paths).toBeUndefined();
    const { response } = await patch({ type: merge, body: '{"title":"a"}' }, options);
    expect(response.status).toBe(415);
  });

  test("accepts no patch for another method", async () => {
    const headers = { "content-type": merge };
    const request = { version, path: "/v1/shelves/a/volumes", headers, body: "{}" };
    const answer = askCatalogOf({ createVolume: () => ({}) }, request);
    expect(await answer).toMatchObject({ status: 415 });
  });
});
