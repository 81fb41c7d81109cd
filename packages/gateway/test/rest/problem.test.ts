/** Errors as application/problem+json, wherever they are rendered. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { RestFailure, restErrorFrom } from "../../src/errors/http-error.ts";
import { renderProblem } from "../../src/index.ts";
import { get, openCatalogOf, send, versions } from "../support/catalog.ts";
import { jsonOf, type SentRequest } from "../support/gateway.ts";

const problemType = "application/problem+json";

describe("a problem has the members of RFC 9457, and code and details:", () => {
  test.each<[reason: unknown, problem: object]>([
    [
      new ConnectError("no volume 9", Code.NotFound),
      { title: "Not Found", status: 404, detail: "no volume 9", code: 5, details: [] },
    ],
    [
      new ConnectError("bad", Code.InvalidArgument, undefined, [
        { desc: BadRequestSchema, value: { fieldViolations: [{ field: "id" }] } },
      ]),
      {
        title: "Bad Request",
        status: 400,
        detail: "bad",
        code: 3,
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            fieldViolations: [{ field: "id" }],
          },
        ],
      },
    ],
    [new ConnectError("", Code.Aborted), { title: "Conflict", status: 409, code: 10, details: [] }],
    [
      new ConnectError("left", Code.Canceled),
      { status: 499, detail: "left", code: 1, details: [] },
    ],
    [
      new RestFailure(413, Code.ResourceExhausted, "large"),
      { title: "Payload Too Large", status: 413, detail: "large", code: 8, details: [] },
    ],
    [
      new Error("secret"),
      {
        ...{ title: "Internal Server Error", status: 500 },
        ...{ detail: "internal error", code: 13, details: [] },
      },
    ],
  ])("%o", (reason, problem) => {
    const { status, contentType, body } = renderProblem(restErrorFrom(reason));
    expect(body).toEqual({ type: "about:blank", ...problem });
    expect(body).toMatchObject({ status });
    expect(contentType).toBe(problemType);
  });
});

describe.each(versions)("over HTTP/%s, the media type is that of the renderer", (version) => {
  const options = { rest: { renderError: renderProblem } };

  test.each<[what: string, request: SentRequest, status: number]>([
    ["of an error of a call", get("/v1/volumes/9"), 404],
    ["of a path that is not there", get("/nothing"), 404],
    ["of a method that is not there", send("DELETE", "/v1/volumes/9", ""), 405],
    ["of an unknown parameter", get("/v1/volumes/9?a"), 400],
    ["of a body that is none", send("POST", "/v1/shelves/a/volumes", "{"), 400],
    ["of a stream that does not begin", get("/v1/shelves/a/volumes:watch"), 501],
  ])("%s", async (_what, request, status) => {
    const getVolume = () => Promise.reject(new ConnectError("none", Code.NotFound));
    await using gateway = await openCatalogOf({ getVolume }, options);
    const response = await gateway.send({ version, ...request });
    expect(response.headers.get("content-type")).toBe(problemType);
    expect(response.status).toBe(status);
    expect(response.headers.has("allow")).toBe(status === 405);
    expect(jsonOf(response)).toMatchObject({ type: "about:blank", status });
  });

  test("but not in a stream that has begun, which keeps its own media type", async () => {
    await using gateway = await openCatalogOf(
      {
        async *watchVolumes() {
          yield { id: 1n };
          throw new ConnectError("torn", Code.DataLoss);
        },
      },
      options,
    );
    const response = await gateway.send({ version, ...get("/v1/shelves/a/volumes:watch") });
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(response.body.toString()).toContain('{"error":{"type":"about:blank"');
  });
});
