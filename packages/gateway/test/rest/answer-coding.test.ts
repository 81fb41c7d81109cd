import type { Compression } from "@connectrpc/connect/protocol";
import { describe, expect, test } from "vitest";
import { nodeCodings } from "../../src/adapter/node.ts";
import { chooseCoding, chooseCodings } from "../../src/rest/response/answer-coding.ts";
import { compressionGzip } from "../../src/rpc/gzip.ts";

const codings = chooseCodings(nodeCodings, [compressionGzip]);

describe("a client gets its preferred coding, then zstd, br, gzip:", () => {
  test.each<[accepted: string, coding: string | undefined]>([
    ["", undefined],
    ["gzip", "gzip"],
    ["zstd", "zstd"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["gzip, deflate, br", "br"],
    ["ZSTD", "zstd"],
    ["gzip;q=1.0, br;q=0.8, zstd;q=0.1", "gzip"],
    ["gzip;q=0.5, br ; q=0.8", "br"],
    ["zstd;q=0, br;q=0.000, gzip;q=0.001", "gzip"],
    ["gzip;q=much", undefined],
    ["identity, gzip;q=0.5", undefined],
    ["identity;q=0.5, gzip", "gzip"],
    ["identity;q=0.5, gzip;q=0.5", "gzip"],
    ["identity;q=0", undefined],
    // A client that accepts anything has not said that it can decompress ours.
    ["*", undefined],
    ["deflate, compress", undefined],
    [",;,=q", undefined],
  ])("%j: %s", (accepted, coding) => {
    expect(chooseCoding(accepted, codings)?.name).toBe(coding);
  });
});

describe("the codings of a route are", () => {
  const own: Compression = { ...compressionGzip, name: "own" };
  const named = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);

  test.each<[what: string, codings: ReturnType<typeof chooseCodings>, names: readonly string[]]>([
    ["all by default", chooseCodings(nodeCodings, [compressionGzip]), ["zstd", "br", "gzip"]],
    [
      "all, and what else the router takes",
      chooseCodings(nodeCodings, [own, compressionGzip]),
      ["zstd", "br", "gzip", "own"],
    ],
    ["none of a router that takes none", chooseCodings(nodeCodings, []), []],
  ])("%s", (_what, found, names) => {
    expect(named(found)).toEqual(names);
  });
});
