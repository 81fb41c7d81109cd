import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import {
  fromNodeHeaders,
  isOfConnection,
  LazyHeaders,
  mergeHeaders,
  type NodeHeaders,
  toNodeHeaders,
  withoutConnection,
  withoutLength,
} from "../../src/http/headers.ts";

const sources: readonly NodeHeaders[] = [
  {},
  { a: "1", "x-b2": "2" },
  { a: "" },
  { a: " 1" },
  { a: "1\t" },
  { a: "1 " },
  { a: 5, b: undefined },
  { a: ["1", "2"] },
  { "set-cookie": ["c=1", "d=2", "e=3"], a: "1" },
  { ":path": "/", a: "1" },
];

/** What it returns, or the class of what it throws. */
function outcomeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return (error as Error).constructor.name;
  }
}

describe.each(sources)("the headers %j", (source) => {
  const lazy = () => new LazyHeaders(source);
  const real = () => fromNodeHeaders(source);

  test.each([
    ...["a", "A", "x-b2", "b", "set-cookie", ":path", "none", "toString", "constructor"],
    ...["not a name"],
  ])("are looked up as in Headers: %s", (name) => {
    expect(outcomeOf(() => lazy().get(name))).toEqual(outcomeOf(() => real().get(name)));
    expect(outcomeOf(() => lazy().has(name))).toEqual(outcomeOf(() => real().has(name)));
    const changed = lazy();
    changed.set("more", "1");
    expect(outcomeOf(() => changed.get(name))).toEqual(outcomeOf(() => real().get(name)));
    expect(outcomeOf(() => changed.has(name))).toEqual(outcomeOf(() => real().has(name)));
  });

  test("are passed through as Headers", () => {
    const [ours, theirs] = [lazy(), real()];
    expect([...ours]).toEqual([...theirs]);
    expect([...ours.keys()]).toEqual([...theirs.keys()]);
    expect([...ours.values()]).toEqual([...theirs.values()]);
    expect(ours.getSetCookie()).toEqual(theirs.getSetCookie());
    const visited: unknown[] = [];
    const self = {};
    ours.forEach(function (this: unknown, value, name, parent) {
      expect([this, parent]).toEqual([self, ours]);
      visited.push([name, value]);
    }, self);
    expect(visited).toEqual([...theirs]);
  });

  test("are changed as Headers", () => {
    const [ours, theirs] = [lazy(), real()];
    for (const headers of [ours, theirs]) {
      headers.set("a", "new");
      headers.append("x-b2", "more");
      headers.append("set-cookie", "f=4");
      headers.delete("none");
    }
    expect([...ours]).toEqual([...theirs]);
    ours.delete("a");
    expect(ours.has("a")).toBe(false);
  });

  test("are Node's own until they are changed", () => {
    const headers = lazy();
    headers.has("none");
    headers.get("none");
    if (source["a"] === "1" || source["a"] === "") headers.get("a");
    expect(headers.toNode()).toBe(source);
    headers.set("a", "new");
    expect(headers.toNode()).toEqual({ ...toNodeHeaders(real()), a: "new" });
    expect(source["a"]).not.toBe("new");
  });
});

test("LazyHeaders pass for Headers, and are printed as them", () => {
  const headers = new LazyHeaders({ a: "1" });
  expect(headers).toBeInstanceOf(Headers);
  expect(Object.prototype.toString.call(headers)).toBe("[object Headers]");
  expect(inspect(headers)).toBe(inspect(new Headers({ a: "1" })));
});

describe("an answer's headers that are replaced", () => {
  const own = { "content-type": "application/json", "set-cookie": ["a=1"] };

  test("keep those of the protocol, and lose what was added to them", () => {
    const headers = new LazyHeaders(own);
    headers.set("x-old", "1");
    const other = new Headers({ "x-new": "2", "content-type": "text/plain" });
    other.append("set-cookie", "b=2");
    headers.replace(other);
    expect([...headers]).toEqual([
      ["content-type", "text/plain"],
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["x-new", "2"],
    ]);
  });

  test("by themselves stay as they are", () => {
    const headers = new LazyHeaders(own);
    headers.replace(headers);
    expect(headers.toNode()).toBe(own);
  });
});

test.each([1, 2, 3])("Node gets %d cookies", (count) => {
  const cookies = ["a=1", "b=2", "c=3"].slice(0, count);
  const expected = count === 1 ? "a=1" : cookies;
  const headers = new Headers();
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  headers.append("a", "1");
  headers.append("a", "2");
  expect({ ...toNodeHeaders(headers) }).toEqual({ "set-cookie": expected, a: "1, 2" });
});

test("Node gets each value of bytes by itself", () => {
  const headers = new Headers({
    "x-text": "a, b",
    "x-one-bin": "AAE=",
    "trailer-x-bin": ",AAE ,AP8B",
  });
  headers.append("trailer-x-bin", "");
  expect({ ...toNodeHeaders(headers) }).toEqual({
    "x-text": "a, b",
    "x-one-bin": "AAE=",
    "trailer-x-bin": ["", "AAE", "AP8B", ""],
  });
});

test.each<[what: string, added: NodeHeaders | undefined, merged: NodeHeaders]>([
  ["nothing", undefined, { a: "1", vary: "x" }],
  ["another", { b: "2" }, { a: "1", vary: "x", b: "2" }],
  ["the same", { a: "2" }, { a: "2", vary: "x" }],
  ["what varies it", { vary: "y" }, { a: "1", vary: "x, y" }],
])("added to headers, %s", (_what, added, merged) => {
  expect(mergeHeaders({ a: "1", vary: "x" }, added)).toEqual(merged);
});

test("what varies an answer is added where nothing did", () => {
  expect(mergeHeaders({ a: "1" }, { vary: "y" })).toEqual({ a: "1", vary: "y" });
});

test("an application's length of its answer does not go out", () => {
  const plain = { a: "1" };
  expect(withoutLength(plain)).toBe(plain);
  expect(withoutLength({ ...plain, "content-length": "5" })).toEqual(plain);
});

test("headers of a connection do not go over HTTP/2", () => {
  const plain = { a: "1", "content-type": "text/plain" };
  expect(withoutConnection(plain)).toEqual(plain);
  const names =
    "connection http2-settings keep-alive proxy-connection te transfer-encoding upgrade";
  for (const name of names.split(" ")) {
    expect(isOfConnection(name), name).toBe(true);
    expect(withoutConnection({ ...plain, [name]: "1" })).toEqual(plain);
  }
  expect(isOfConnection("a")).toBe(false);
});
