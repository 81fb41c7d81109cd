/** Files of plants: what is written is read as the same plants, and what is none is told apart. */
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../packages/gateway/test/support/any-character.ts";
import { collect } from "../../packages/gateway/test/support/collect.ts";
import { int64Max, int64Min, type NewPlant } from "../../src/plant.ts";
import { formatNames, formatOfFile, formats, writePlants } from "../../src/transfer/format.ts";
import { FormatError, type Row } from "../../src/transfer/row.ts";
import { unzip } from "../../src/transfer/unzip.ts";
import { exactPlants } from "../store/reader-places.ts";

type Name = (typeof formatNames)[number];

async function read(name: Name, bytes: Uint8Array, pieceMax = 1 << 16, lineBytesMax = 1 << 20) {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceMax) yield bytes.subarray(at, at + pieceMax);
  }
  return await collect(formats[name].read(pieces(), { lineBytesMax }));
}

async function write(name: Name, plants: readonly NewPlant[]): Promise<Buffer> {
  async function* pages() {
    for (let at = 0; at < plants.length; at += 3) yield plants.slice(at, at + 3);
  }
  return Buffer.concat(await collect(writePlants(pages(), formats[name], () => {})));
}

const plantsOf = (rows: readonly Row[]) =>
  rows.map((row) => (row.kind === "plant" ? row.plant : row.reason));

/** Made of what formats have a meaning for, and of anything else that a plant may have. */
const anyText = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.constantFrom(...'",\r\n\\ ;=\t', "\ufeff", "\u2028", "é", "🌱", "a") }),
);

const text = anyText.map((any) => any.replaceAll("\0", ""));

const id = fc.bigInt({ min: int64Min, max: int64Max });
const anyPlant: fc.Arbitrary<NewPlant> = fc.record(
  { id, name: text, tag: text },
  { noNullPrototype: true, requiredKeys: ["id", "name"] },
);

describe.each(formatNames)("%s", (name) => {
  test("gives back any plants exactly, however the file comes in pieces", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyPlant, { maxLength: 12 }),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        async (plants, pieceMax, hasMark) => {
          const file = await write(name, plants);
          const bytes = hasMark ? Buffer.concat([Buffer.from("\ufeff"), file]) : file;
          expect(plantsOf(await read(name, bytes, pieceMax))).toStrictEqual(plants);
        },
      ),
      // What doubles, careless readers and careless writers change.
      { examples: [[[...exactPlants], 1 << 16, false]] },
    );
  });

  test.each(["", "\ufeff"])("is told what to do with UTF-16 that starts with %j", async (start) => {
    const file = Buffer.from(`${start}{"id,name\n`, "utf16le");
    const problem = new FormatError("it is UTF-16: save it as UTF-8");
    for (const bytes of [file, Buffer.from(file).swap16()])
      await expect(read(name, bytes)).rejects.toThrow(problem);
  });
});

/** The plants by their ids, and lines with reasons. */
type Told = bigint | readonly [line: number, reason: RegExp, row?: string];
type BadRow = readonly [title: string, file: string | Buffer, rows: readonly Told[]];

const json = (line: string) => `{"id":1,"name":"a"}\n${line}\n{"id":"3","name":"c"}`;
const badJson = (title: string, line: string, reason: RegExp): BadRow => [
  title,
  Buffer.from(json(line), "latin1"),
  [1n, [2, reason], 3n],
];
const csv = (lines: string) => `id,name,tag\n${lines}`;
/** Bytes that are no UTF-8, in a name and a tag. */
const latin1 = Buffer.from(csv("1,a\xff,\n2,b,\xe9\n3,c,"), "latin1");

const badRows: Readonly<Record<Name, readonly BadRow[]>> = {
  ndjson: [
    badJson("no JSON", '{"id":2,', /^the row is not valid JSON/),
    badJson("no object", "[]", /^the row /),
    badJson("an id that is no integer", '{"id":2.5,"name":""}', /^id must be a 64-bit integer/),
    badJson("an id past int64", '{"id":9223372036854775808,"name":""}', /^id must be .*, from -9/),
    badJson("an id that is missing", '{"name":"b"}', /^id is required$/),
    badJson("a name that is null", '{"id":2,"name":null}', /^name is required$/),
    badJson("a field of another kind", '{"id":2,"name":"b","tga":"c"}', /tga/),
    badJson("a field twice", '{"id":2,"name":"b","name":"c"}', /name" twice/),
    badJson("a lone surrogate", '{"id":2,"name":"\\ud800"}', /^name must not .* surrogate$/),
    badJson("bytes that are no UTF-8", '{"id":2,"name":"\xff"}', /^the row is not valid UTF-8$/),
    badJson("a row that is too long", "x".repeat(300), /^the row is longer than 200 bytes$/),
    ["empty lines, CRLF and nothing else", '\r\n\n{"id":1,"name":""}\r\n \n', [1n]],
    ["nothing", "", []],
  ],
  csv: [
    ["columns in another order, without tag", "name,id\na,1\n", [1n]],
    ["columns in upper case", "ID,Name,TAG\n1,a,\n", [1n]],
    ["quoted columns, CRLF, LF, empty lines", '"id",name,"tag"\r\n\r\n1,a,\n\n2,b,c', [1n, 2n]],
    [
      "too few fields, and too many",
      csv("1,a\n2,b,c,d\n3,c,"),
      [[2, /^the row has 2 fields in place of 3/], [3, /^the row has 4 fields/], 3n],
    ],
    [
      "ids that are none",
      csv("1.5,a,\n ,b,\n9223372036854775808,c,\n0x5,d,\n,e,\n6,f,"),
      [...[2, 3, 4, 5].map((line) => [line, /^id must be/] as const), [6, /^id is required$/], 6n],
    ],
    ["a missing name, and an empty one", csv('1,,a\n2,"",b\n'), [[2, /^name is required$/], 2n]],
    [
      "quotes where they must not be",
      csv('1,a"b,c\n2,"x\r\n\ny",\n3,d"e"f,g\n4"h",i,"j"\n5,k,l"'),
      [
        [2, /^a field with a quote in it/, '1,a"b,c'],
        2n,
        [6, /^a field with a quote in it/, '3,d"e"f,g'],
        [7, /^a field with a quote in it/, '4"h",i,"j'],
        [8, /^a field with a quote in it/, '5,k,l"'],
      ],
    ],
    ["no UTF-8", latin1, [[2, /^name is not valid UTF-8$/], [3, /^tag is not valid UTF-8$/], 3n]],
    [
      "a carriage return without quotes",
      csv("1,a\rb,\n2,c,d\r\r\n3,e,"),
      [[2, /^name has a line break without/], [3, /^tag has a line break/], 3n],
    ],
  ],
};

describe.each(formatNames)("rows of %s that are no plants", (name) => {
  test.each(badRows[name])("%s", async (_title, file, rows) => {
    for (const pieceMax of [1, 5, 1 << 16]) {
      const found = await read(name, Buffer.from(file as Buffer), pieceMax, 200);
      const told = found.map((row) =>
        row.kind === "plant" ? row.plant.id : [row.line, row.reason, row.row ?? "none"],
      );
      const wanted = rows.map((row) => {
        if (typeof row === "bigint") return row;
        const [line, reason, text] = row;
        const kept = text === undefined ? expect.any(String) : JSON.stringify(text);
        return [line, expect.stringMatching(reason), kept];
      });
      expect(told).toEqual(wanted);
    }
  });
});

describe("CSV that cannot be told apart into rows", () => {
  test.each([
    ["nothing", "", /^the first line of CSV must name the columns id,name,tag/],
    ["no header", "1,a,b\n", /^the first line of CSV/],
    ["a column of another name", "id,name,tags\n", /^the first line of CSV/],
    ["a header with a quote", 'id,name"\nid,name\n1,a\n', /^the first line of CSV/],
    ["a column twice", "id,name,name\n", /^the first line of CSV/],
    ["no id", "name,tag\n", /^the first line of CSV.*; it is "name,tag"$/],
    ["semicolons", "id;name;tag\n1;a;\n", /it is "id;name;tag": separate the columns by commas$/],
    ["tabs", "id\tname\n1\ta\n", /it is "id\\tname": separate the columns by commas$/],
    ["much in its first line", `${"é".repeat(90)}\n`, /it is "é{60}"$/],
    ["no end", csv(`1,a,\n2,"${"x\n".repeat(200)}`), /^the row of line 3 is longer than 200 bytes/],
    [
      "a quote that is not doubled",
      csv('1,a,\n"2"b,c,"d"\n3,e,'),
      /^the row of line 3 .* doubled; it and all behind it were not read$/,
    ],
    ["the same in the last field", csv('2,b,"c"d"\n3,c,\n'), /^the row of line 2 has a quote in/],
    ["no end quote", csv('1,a"b,\n4,h,"i\n5,j,k'), /^the row of line 3 has a quoted field without/],
    ["no line breaks", `id,name,tag\n${",".repeat(2000)}`, /^line 2 has more than 1000 fields$/],
  ])("%s", async (_, file, message) => {
    const problem = { name: "FormatError", message: expect.stringMatching(message) };
    await expect(read("csv", Buffer.from(file), 64, 200)).rejects.toMatchObject(problem);
  });

  test.each([Buffer.from, gzipSync])("a source that fails is not at its end: %#", async (form) => {
    async function* broken() {
      yield Buffer.concat([form("id,name,tag\n1,a,\n"), Buffer.alloc(9)]);
      await new Promise((end) => setTimeout(end, 50)); // at the zeros, the gzip has ended
      throw new Error("the disk");
    }
    const rows = formats.csv.read(unzip(broken()), { lineBytesMax: 200 });
    await expect(collect(rows)).rejects.toThrow("the disk");
  });
});

test("a row that is too long is not held in memory", async () => {
  const long = Readable.from(Array<Buffer>(500).fill(Buffer.alloc(1 << 20, "x")));
  const before = process.memoryUsage().arrayBuffers;
  const rows = await collect(formats.ndjson.read(long, { lineBytesMax: 1 << 16 }));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(250 * (1 << 20));
  expect(rows).toMatchObject([{ kind: "malformed", line: 1 }]);
});

test.each([
  ["A.CSV", "csv"],
  ["dir.csv/a.ndjson", "ndjson"],
  ["a.jsonl", "ndjson"],
  ["a.csv.GZ", "csv"],
  ["a.gz", undefined],
  ["csv", undefined],
])("%s is %s", (file, format) => expect(formatOfFile(file)).toBe(format));
