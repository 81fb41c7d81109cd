import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { captureVariable, parsePathTemplate } from "../../src/rest/rule/path-template.ts";

/** The captures of a template's variables, for a path that it matches. */
function capture(template: string, path: string): (string | undefined)[] {
  const parsed = parsePathTemplate(template);
  const segments = path.split("/").slice(1);
  return parsed.variables.map((variable) => captureVariable(parsed, variable, segments));
}

describe("a path is captured:", () => {
  test.each<[template: string, path: string, texts: string | (string | undefined)[]]>([
    // A variable of one segment is decoded completely.
    ["/{a}", "/x", "x"],
    ["/{a}", "/x%2Fy", "x/y"],
    ["/{a}", "/%252F", "%2F"],
    ["/{a}", "/x%20y", "x y"],
    ["/{a}", "/x+y", "x+y"], // a space only in a query
    ["/{a}", "/%f0%9f%8c%b1", "🌱"],
    ["/{a}", "/%EF%BB%BFx", "\ufeffx"],
    ["/{a}", "/%2e%2E", ".."],
    ["/{a=b}", "/%62", "b"],
    // A variable of several segments keeps %2F as written.
    ["/{a=b/*}", "/b/%2F%2f%20%2F", "b/%2F%2f %2F"],
    ["/{a=b/*}", "/b/x%20y+z", "b/x y+z"],
    ["/{a=b/*}", "/b/%C3%A9%2F%C3%A8", "b/é%2Fè"],
    ["/v1/{a=b/*/c/*}/d", "/v1/b/1/c/2/d", "b/1/c/2"],
    ["/{a=**}", "/x%2Fy", "x%2Fy"], // one segment, but there could be more
    ["/{a=**}", "/x/y%2Fz", "x/y%2Fz"],
    ["/{a=**}", "/x//y/", "x//y/"],
    ["/{a=f/*/**}", "/f/x/y/z", "f/x/y/z"],
    // ** also captures an empty text.
    ["/{a=**}", "/", ""],
    ["/f/{a=**}", "/f", ""],
    ["/{a=f/**}", "/f", "f"],
    ["/{a=f/**}", "/f/", "f/"],
    ["/{a=f/*/**}", "/f/x", "f/x"],
    // Each variable captures its own part.
    ["/{a}/{b}", "/x%2Fy/z", ["x/y", "z"]],
    ["/{a=b/*}/{c}", "/b/x%2Fy/z%2F", ["b/x%2Fy", "z/"]],
    ["/{a}/b/{c=**}", "/x/b/y/z", ["x", "y/z"]],
    ["/a/*/{b}", "/a/x/y", ["y"]],
    ["/{a}/{b=**}", "/%ff/y", [undefined, "y"]],
    ["/a/*", "/a/x", []],
  ])("%s of %s: %j", (template, path, texts) => {
    expect(capture(template, path)).toEqual([texts].flat());
  });
});

describe("anything but percent-encoded UTF-8 is not captured:", () => {
  test.each([
    ["/{a}", "/%"],
    ["/{a}", "/%C0%AF"], // an overlong slash
    ["/{a=b/*}", "/b/%"],
    ["/{a=b/*}", "/b/%C3%2F%A9"], // %2F is not part of a character
    ["/{a=**}", "/x/%C3/%A9"],
  ])("%s of %s", (template, path) => {
    expect(capture(template, path)).toEqual([undefined]);
  });
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
