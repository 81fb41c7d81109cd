import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RouteTable } from "../../src/rest/routing/route-table.ts";
import {
  captureVariable,
  parsePathTemplate,
  segmentsIn,
} from "../../src/rest/rule/path-template.ts";

type Route = { readonly route: string };

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

test.each<[routes: string[], path: string, route: string | undefined]>([
  [["GET /a"], "/A", undefined],
  [["GET /*/**", "GET /*"], "/a", "GET /*"],
  [["GET /a"], "/%61", "GET /a"],
  [["GET /a/b"], "/a%2Fb", undefined],
  // `*` is one segment, and one that is there.
  [["GET /*"], "/%", "GET /*"],
  // `**` is the rest, or nothing.
  [["GET /**", "GET /"], "/", "GET /"],
  // Variables are their patterns.
  [["GET /{a=x/*}"], "/x/1", "GET /{a=x/*}"],
  [["GET /{a=x}"], "/{a=x}", undefined],
  // A literal precedes `*`, and `*` precedes `**`, whatever the order of the routes.
  [["GET /*", "GET /a"], "/a", "GET /a"],
  [["GET /**", "GET /*"], "/b", "GET /*"],
  [["GET /a/*", "GET /*/b"], "/a/b", "GET /a/*"],
  // The search backtracks from a branch that leads nowhere.
  [["GET /a/b/c", "GET /*/b/d"], "/a/b/d", "GET /*/b/d"],
  [["POST /a", "GET /*"], "/a", "GET /*"],
  // Only a verb of some route is a verb.
  [["GET /*:go"], "/a:stop", undefined],
  [["GET /*", "GET /*:go"], "/a:go", "GET /*:go"],
  [["GET /*", "GET /*:go"], "/a:b:go", "GET /*:go"],
  [["GET /a/**:go", "GET /a/**"], "/a/b/c:go", "GET /a/**:go"],
  [["GET /a/**:go", "GET /a/**"], "/a/b:go/c", "GET /a/**"],
  [["GET /a:go"], "/a%3Ago", undefined],
  [["GET /a:g%6f"], "/a:%67o", "GET /a:g%6f"],
  // Methods.
  [["* /a"], "/a", "* /a"],
  [["* /a", "GET /a"], "/a", "GET /a"],
  [["get /a"], "/a", undefined],
])("the route that a path has, of %j: %s -> %s", (routes, path, route) => {
  expect(routeOf(tableOf(...routes), "GET", path)).toBe(route);
});

test("HEAD is served by GET, unless it has its own route", () => {
  expect(routeOf(tableOf("GET /a", "* /a"), "HEAD", "/a")).toBe("GET /a");
  expect(routeOf(tableOf("GET /"), "HEAD", "/")).toBe("GET /");
  expect(routeOf(tableOf("GET /a", "HEAD /a"), "HEAD", "/a")).toBe("HEAD /a");
  expect(routeOf(tableOf("POST /a"), "HEAD", "/a")).toBeUndefined();
});

test("the segments of a path that matches are raw, without the verb", () => {
  const template = parsePathTemplate("/{a=x/**}:go");
  expect(segmentsIn("/x/a%2Fb/%20c:go", template)).toEqual(["x", "a%2Fb", "%20c"]);
});

const table = tableOf("POST /a", "GET /a", "GET /a/b", "PATCH /a/*", "SEARCH /c", "PUT /**:go");
test.each([
  ["PUT", "/a", ["GET", "HEAD", "POST"]],
  ["get", "/a", ["GET", "HEAD", "POST"]], // methods are case-sensitive
  ["POST", "/a/b", ["GET", "HEAD", "PATCH"]],
  ["constructor", "/c", ["SEARCH"]],
  ["GET", "/x:go", ["PUT"]],
])("other methods of a path are listed, and not allowed: %s %s", (method, path, allow) => {
  expect(table.match(method, path)).toBeUndefined();
  expect([...table.methodsOf(path).keys()].sort()).toEqual(allow);
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

describe("an invalid template is rejected, with the column:", () => {
  test.each<[text: string, column: number, reason: string]>([
    ["", 1, 'expected "/"'],
    ["/a/", 4, "expected a segment"],
    ["/%", 2, "expected a segment"],
    ["/a:b:c", 5, 'unexpected ":"'],
    ["/a:{b}", 4, "expected a segment"],
    ["/***", 4, 'unexpected "*"'],
    ["/{a}b", 5, 'unexpected "b"'],
    ["/**/a", 5, "nothing may follow **"],
    ["/{}", 3, "expected a field name"],
    ["/{a", 4, 'expected "}"'],
    ["/{a=b", 6, 'expected "}"'],
    ["/{a.b}/{c}/{a.b=d}", 13, "a.b stands twice"],
  ])("%j: column %i, %s", (text, column, reason) => {
    expect(() => parsePathTemplate(text)).toThrow(new SyntaxError(`column ${column}: ${reason}`));
  });

  test.each(["/a/%C3", "/%ED%A0%80", "/a:%ff", "/{a=%ff}"])("%s, that is not UTF-8", (text) => {
    expect(() => parsePathTemplate(text)).toThrow("a percent-encoding is not UTF-8");
  });
});

/** The captures of a template's variables, for a path that it matches. */
function capture(template: string, path: string): (string | undefined)[] {
  const parsed = parsePathTemplate(template);
  const segments = path.split("/").slice(1);
  return parsed.variables.map((variable) => captureVariable(parsed, variable, segments));
}

test.each<[template: string, path: string, texts: string | (string | undefined)[]]>([
  // A variable of one segment is decoded completely.
  ["/{a}", "/x%2Fy", "x/y"],
  ["/{a}", "/x+y", "x+y"], // a space only in a query
  ["/{a}", "/%EF%BB%BFx", "\ufeffx"],
  ["/{a}", "/%2e%2E", ".."],
  ["/{a=b}", "/%62", "b"],
  // A variable of several segments keeps %2F as written.
  ["/{a=b/*}", "/b/%2F%2f%20%2F", "b/%2F%2f %2F"],
  ["/v1/{a=b/*/c/*}/d", "/v1/b/1/c/2/d", "b/1/c/2"],
  ["/{a=**}", "/x%2Fy", "x%2Fy"], // one segment, but there could be more
  ["/{a=**}", "/x/y%2Fz", "x/y%2Fz"],
  ["/{a=**}", "/x//y/", "x//y/"],
  // ** also captures an empty text.
  ["/{a=**}", "/", ""],
  ["/{a=f/**}", "/f", "f"],
  ["/{a=f/*/**}", "/f/x", "f/x"],
  // Each variable captures its own part.
  ["/{a}/{b}", "/x%2Fy/z", ["x/y", "z"]],
  ["/{a=b/*}/{c}", "/b/x%2Fy/z%2F", ["b/x%2Fy", "z/"]],
  ["/{a}/b/{c=**}", "/x/b/y/z", ["x", "y/z"]],
  ["/{a}/{b=**}", "/%ff/y", [undefined, "y"]],
])("a path is captured: %s of %s: %j", (template, path, texts) => {
  expect(capture(template, path)).toEqual([texts].flat());
});

test.each([
  ["/{a}", "/%"],
  ["/{a}", "/%C0%AF"], // an overlong slash
  ["/{a=b/*}", "/b/%C3%2F%A9"], // %2F is not part of a character
  ["/{a=**}", "/x/%C3/%A9"],
])("anything but percent-encoded UTF-8 is not captured: %s of %s", (template, path) => {
  expect(capture(template, path)).toEqual([undefined]);
});

test("any text survives in one segment, and in several except for its slashes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 20 }), (text) => {
      const encoded = encodeURIComponent(text);
      expect(capture("/{a}", `/${encoded}`)).toEqual([text]);
      const kept = text.replaceAll("/", "%2F");
      expect(capture("/{a=b/*}", `/b/${encoded}`)).toEqual([`b/${kept}`]);
    }),
  );
});
