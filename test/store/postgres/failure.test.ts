import pg from "pg";
import { expect, test } from "vitest";
import {
  ConnectionLost,
  NoHost,
  type Remedy,
  remedyFor,
  Unconfirmed,
} from "../../../src/store/postgres/failure.ts";

function serverError(code: string): unknown {
  const error = new pg.DatabaseError("words", 5, "error");
  error.code = code;
  return error;
}

test.each<[Remedy, readonly string[]]>([
  ["again", ["08006", "40001", "40P01", "40003", "55P03", "57014"]],
  ["elsewhere", ["08000", "08003", "08P01", "25006", "53300"]],
  ["elsewhere", ["57P01", "57P02", "57P03", "57P05"]],
  ["none", ["23503", "42P01", "42501", "53100", "53200", "XX000", "22021", "28P01", "3D000"]],
])("the remedy %s is for %j", (remedy, codes) => {
  for (const code of codes) expect(remedyFor(serverError(code)), code).toBe(remedy);
});

test.each<[Remedy, unknown]>([
  ["again", new Unconfirmed("")],
  ["elsewhere", new ConnectionLost("")],
  ["elsewhere", new NoHost(new Map([["h", serverError("28P01")]]))],
  // A system error that looks like an SQLSTATE.
  ["none", Object.assign(new Error("words"), { code: "57P01" })],
  ["none", new TypeError("ours")],
])("the remedy %s is for %s", (remedy, error) => {
  expect(remedyFor(error)).toBe(remedy);
});
