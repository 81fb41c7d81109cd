/** Link to the next page, RFC 8288; Deprecation and Sunset, RFC 9745 and RFC 8594. */
import type { ConnectRouter } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { NoteService } from "../gen/openapi/modern/v1/notes_pb.ts";
import { get, send, versions } from "../support/catalog.ts";
import { openGateway, type SentRequest, type TestGatewayOptions } from "../support/gateway.ts";

const routes =
  (next: string, headers: Record<string, string> = {}) =>
  (router: ConnectRouter) =>
    router.service(NoteService, {
      listNotes(_request, { responseHeader }) {
        for (const [name, value] of Object.entries(headers)) responseHeader.set(name, value);
        return { notes: [{ text: "a" }], nextPageToken: next };
      },
      addNote: (note) => note,
    });

const openNotes = (next: string, headers?: Record<string, string>) =>
  openGateway({ routes: (router) => void routes(next, headers)(router) });

describe.each(versions)("over HTTP/%s,", (version) => {
  test.each<[path: string, next: string, link: string | null]>([
    ["/v1/notes", "b", '<?pageToken=b>; rel="next"'],
    [
      "/v1/notes?page_size=2&words=x&words=y",
      "b",
      '<?page_size=2&words=x&words=y&pageToken=b>; rel="next"',
    ],
    ["/v1/notes?pageToken=a", "b", '<?pageToken=b>; rel="next"'],
    ["/v1/notes?page_token=a&page_size=2", "b", '<?page_size=2&pageToken=b>; rel="next"'],
    ["/v1/notes?page%54oken=a", "b", '<?pageToken=b>; rel="next"'],
    ["/v1/notes?words=%3E%22%2B+%26", "b", '<?words=%3E%22%2B+%26&pageToken=b>; rel="next"'],
    ["/v1/notes", '=&+/>", é', '<?pageToken=%3D%26%2B%2F%3E%22%2C+%C3%A9>; rel="next"'],
    ["/v1/notes:bare", "b", '<?pageToken=b>; rel="next"'], // whose body is the list alone
    ["/v1/notes", "", null],
  ])("%s, with %j after it, has the Link %s", async (path, next, link) => {
    await using gateway = await openNotes(next);
    for (const method of ["GET", "HEAD"]) {
      const response = await gateway.send({ version, method, path });
      expect([response.status, response.headers.get("link")]).toEqual([200, link]);
    }
  });

  test("following the link gets the next page, with the same other parameters", async () => {
    await using gateway = await openGateway({
      routes: (router) =>
        router.service(NoteService, {
          listNotes: ({ pageToken, words }) => ({
            notes: [{ text: [pageToken, ...words].join() }],
            nextPageToken: pageToken === "2" ? "" : `${Number(pageToken) + 1}`,
          }),
        }),
    });
    const seen: string[] = [];
    for (
      let path: string | undefined = "/v1/notes:bare?words=a%20b&words=%2B";
      path !== undefined;
    ) {
      const { body, headers } = await gateway.send({ version, method: "GET", path });
      seen.push(body.toString());
      const [, target] = /^<(.*)>/.exec(headers.get("link") ?? "") ?? [];
      const base: URL = new URL(path, gateway.origin(version));
      path = target && new URL(target, base).href.slice(base.origin.length);
    }
    expect(seen).toEqual(['[{"text":",a b,+"}]', '[{"text":"1,a b,+"}]', '[{"text":"2,a b,+"}]']);
  });
});

test.each<[what: string, request: SentRequest]>([
  ["a search by POST", send("POST", "/v1/notes:search", {})],
  ["RPC", send("POST", "/openapi.modern.v1.NoteService/ListNotes", {})],
])("%s has no link", async (_what, request) => {
  await using gateway = await openNotes("b");
  const { status, headers } = await gateway.send(request);
  expect([status, headers.get("link")]).toEqual([200, null]);
});

test("a Link of the implementation is left as it is", async () => {
  await using gateway = await openNotes("b", { link: "</v2>; rel=successor-version" });
  const { headers } = await gateway.send(get("/v1/notes"));
  expect(headers.get("link")).toBe("</v2>; rel=successor-version");
});

describe("deprecations:", () => {
  const selector = "openapi.modern.v1.NoteService.ListNotes";
  const open = (deprecations: NonNullable<TestGatewayOptions["rest"]>["deprecations"]) =>
    openGateway({
      routes: (router) => void routes("")(router),
      rest: { ...(deprecations && { deprecations }) },
    });

  test.each<[since: string, sunset: string | undefined, expected: unknown[]]>([
    ["2026-01-31", undefined, ["@1769817600", null]],
    ["2026-01-31", "2027-01-31", ["@1769817600", "Sun, 31 Jan 2027 00:00:00 GMT"]],
    ["2026-01-31T01:00:00+01:00", "2026-01-31", ["@1769817600", "Sat, 31 Jan 2026 00:00:00 GMT"]],
  ])("since %s, sunset %s: %j, on errors, too", async (since, sunset, expected) => {
    const deprecation = { since, ...(sunset !== undefined && { sunset }) };
    await using gateway = await open({ [selector]: deprecation });
    for (const version of versions) {
      for (const [path, status] of [
        ["/v1/notes", 200],
        ["/v1/notes?page_size=x", 400],
      ] as const) {
        const { headers, ...response } = await gateway.send({ version, method: "GET", path });
        expect(response.status).toBe(status);
        expect([headers.get("deprecation"), headers.get("sunset")]).toEqual(expected);
      }
    }
    const other = await gateway.send(send("POST", "/v1/notes", { text: "a" }));
    expect([other.status, other.headers.get("deprecation")]).toEqual([200, null]);
  });

  test.each<[selector: string, since: string, sunset: string | undefined, reason: string]>([
    ["openapi.modern.v1.NoteService.Nothing", "2026-01-31", undefined, "REST serves no method of"],
    [selector, "soon", undefined, '"soon" is no date'],
    [selector, "2026-01-31", "2026-02-31x", '"2026-02-31x" is no date'],
    [selector, "2026-01-31", "2026-01-30", "sunset must not be before since"],
  ])("%s since %s, sunset %s stops the start", (name, since, sunset, reason) => {
    const deprecation = { since, ...(sunset !== undefined && { sunset }) };
    expect(() => open({ [name]: deprecation })).toThrow(`rest.deprecations["${name}"]: ${reason}`);
  });
});
