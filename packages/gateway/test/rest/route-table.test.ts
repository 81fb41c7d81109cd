import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RouteTable } from "../../src/rest/routing/route-table.ts";
import { parsePathTemplate, segmentsIn } from "../../src/rest/rule/path-template.ts";

interface Route {
  readonly route: string;
}

function tableOf(...routes: readonly string[]): RouteTable<Route> {
  const table = new RouteTable<Route>();
  for (const route of routes) {
    const [method = "", path = ""] = route.split(" ");
    expect(table.add(method, parsePathTemplate(path), { route })).toBe(true);
  }
  return table;
}

function routeOf(table: RouteTable<Route>, method: string, path: string): string | undefined {
  return table.match(method, path)?.route;
}

describe("the route that a path has, of", () => {
  const cases: readonly [routes: string[], path: string, route: string | undefined][] = [
    [["GET /a"], "/A", undefined],
    [["GET /a"], "", undefined],
    [["GET /*/**", "GET /*"], "/a", "GET /*"],
    [["GET /a"], "/%61", "GET /a"],
    [["GET /a%2Fb"], "/a%2fb", "GET /a%2Fb"],
    [["GET /a/b"], "/a%2Fb", undefined],
    // `*` is one segment, and one that is there.
    [["GET /*"], "/%", "GET /*"],
    // `**` is the rest, or nothing.
    [["GET /**", "GET /"], "/", "GET /"],
    // Variables are their patterns.
    [["GET /{a=x/*}"], "/x/1", "GET /{a=x/*}"],
    // A literal precedes `*`, and `*` precedes `**`, whatever the order of the routes.
    [["GET /*", "GET /a"], "/a", "GET /a"],
    [["GET /**", "GET /*"], "/b", "GET /*"],
    [["GET /**", "GET /a/**", "GET /a/*"], "/a/b/c", "GET /a/**"],
    [["GET /a/*", "GET /*/b"], "/a/b", "GET /a/*"],
    // The search backtracks from a branch that leads nowhere.
    [["GET /a/b/c", "GET /*/b/d"], "/a/b/d", "GET /*/b/d"],
    [["GET /a/*/c", "GET /a/**"], "/a/b/d", "GET /a/**"],
    [["POST /a", "GET /*"], "/a", "GET /*"],
    // Only a verb of some route is a verb.
    [["GET /*:go"], "/a:stop", undefined],
    [["GET /*", "GET /*:go"], "/a:go", "GET /*:go"],
    [["GET /*", "GET /*:go"], "/a:b:go", "GET /*:go"],
    [["GET /*", "GET /b:go"], "/a:go", "GET /*"],
    [["GET /a/**:go", "GET /a/**"], "/a/b/c:go", "GET /a/**:go"],
    [["GET /a/**:go", "GET /a/**"], "/a/b:go/c", "GET /a/**"],
    [["GET /a:go"], "/a%3Ago", undefined],
    // Methods.
    [["* /a"], "/a", "* /a"],
    [["* /a", "GET /a"], "/a", "GET /a"],
    [["get /a"], "/a", undefined],
  ];

  test.each(cases)("%j: %s -> %s", (routes, path, route) => {
    expect(routeOf(tableOf(...routes), "GET", path)).toBe(route);
  });
});

test("HEAD is served by GET, unless it has its own route", () => {
  expect(routeOf(tableOf("GET /a"), "HEAD", "/a")).toBe("GET /a");
  expect(routeOf(tableOf("GET /"), "HEAD", "/")).toBe("GET /");
  expect(routeOf(tableOf("GET /a", "HEAD /a"), "HEAD", "/a")).toBe("HEAD /a");
  expect(routeOf(tableOf("POST /a"), "HEAD", "/a")).toBeUndefined();
});

test("the segments of a path that matches are raw, without the verb", () => {
  const template = parsePathTemplate("/{a=x/**}:go");
  expect(segmentsIn("/x/a%2Fb/%20c:go", template)).toEqual(["x", "a%2Fb", "%20c"]);
});

describe("other methods of a path are not allowed, and the allowed ones are listed:", () => {
  const table = tableOf("POST /a", "GET /a", "GET /a/b", "PATCH /a/*", "SEARCH /c", "PUT /**:go");
  test.each([
    ["PUT", "/a", ["GET", "HEAD", "POST"]],
    ["get", "/a", ["GET", "HEAD", "POST"]], // methods are case-sensitive
    ["POST", "/a/b", ["GET", "HEAD", "PATCH"]],
    ["constructor", "/c", ["SEARCH"]],
    ["GET", "/x:go", ["PUT"]],
  ])("%s %s", (method, path, allow) => {
    expect(table.match(method, path)).toBeUndefined();
    expect([...table.methodsOf(path).keys()].sort()).toEqual(allow);
  });
});

test("an existing route is neither added again nor replaced", () => {
  const table = tableOf("GET /a/*");
  expect(table.add("GET", parsePathTemplate("/a/{b}"), { route: "another" })).toBe(false);
  expect(routeOf(table, "GET", "/a/x")).toBe("GET /a/*");
});

/** A naive implementation of matching. */
function matches(template: string, path: string): boolean {
  const { segments, verb } = parsePathTemplate(template);
  const parts = segments.map((segment) => {
    if (segment.kind === "literal") return `/${segment.value}`;
    return segment.kind === "any" ? "/[^/]+" : "(/.*)?";
  });
  return new RegExp(`^${parts.join("")}${verb === undefined ? "" : `:${verb}`}$`).test(path);
}

test("finds a route exactly if some template matches", () => {
  const segment = fc.constantFrom("a", "b", "*", "{x}", "a");
  const end = fc.constantFrom("", "/**", ":go", "/**:go");
  const template = fc
    .tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), end)
    .map(([segments, rest]) => `/${segments.join("/")}${rest}`)
    .filter((text) => text.split("{x}").length <= 2);
  const path = fc
    .array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 5 })
    .chain((parts) => fc.constantFrom("", ":go").map((verb) => `/${parts.join("/")}${verb}`));
  fc.assert(
    fc.property(fc.uniqueArray(template, { maxLength: 6 }), path, (templates, target) => {
      const table = new RouteTable<Route>();
      for (const text of templates) table.add("GET", parsePathTemplate(text), { route: text });
      const found = routeOf(table, "GET", target);
      const all = templates.filter((text) => matches(text, target));
      if (found === undefined) expect(all).toEqual([]);
      else expect(all).toContain(found);
    }),
    { numRuns: 3000 },
  );
});
