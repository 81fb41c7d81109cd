import pg from "pg";
import { expect, test } from "vitest";
import type { Obstacle } from "../../../src/plant.ts";
import { StoreOpenError, type StoreOpenErrorCode } from "../../../src/store/open-error.ts";
import {
  ConnectionLost,
  failureCode,
  isOfRow,
  isSilent,
  mayPass,
  NoHost,
  type Remedy,
  remedyFor,
  Unconfirmed,
} from "../../../src/store/postgres/failure.ts";
import { obstacleFrom } from "../../../src/store/postgres/obstacle.ts";
import { isPassing, openError } from "../../../src/store/postgres/open-failure.ts";

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
  ["elsewhere", new StoreOpenError("inaccessible", "")],
  // A system error that looks like an SQLSTATE.
  ["none", Object.assign(new Error("words"), { code: "57P01" })],
  ["none", new TypeError("ours")],
])("the remedy %s is for %s", (remedy, error) => {
  expect(remedyFor(error)).toBe(remedy);
});

test.each([
  [serverError("40001"), true],
  [serverError("57P01"), true],
  // Of a node that Citus has lost.
  [serverError("XX000"), true],
  [serverError("XX001"), false],
  [serverError("23503"), false],
  [new StoreOpenError("inaccessible", ""), true],
  [new StoreOpenError("damaged", ""), false],
])("after %o, a retry may succeed: %s", (error, expected) => {
  expect(mayPass(error)).toBe(expected);
});

const silent = new ConnectionLost("", { isSilent: true });
const noHost = (...errors: readonly unknown[]) =>
  new NoHost(new Map(errors.map((error, i) => [`h${i}`, error])));

test.each([
  [true, ["22001", "23505", "23514", "54000", "P0001"]],
  [false, ["42P01", "53100", "57014", "40001", "XX000", ""]],
])("one row may be the cause: %s for %j", (expected, codes) => {
  for (const code of codes) expect(isOfRow(serverError(code)), code).toBe(expected);
});

test.each([
  [silent, true],
  [new ConnectionLost(""), false],
  [noHost(silent, silent), true],
  [noHost(silent, new ConnectionLost("")), false],
  [serverError("57P01"), false],
])("%o was silent: %s", (error, expected) => {
  expect(isSilent(error)).toBe(expected);
});

test.each([
  [serverError("57P01"), "57P01"],
  [new pg.DatabaseError("words", 5, "error"), "no SQLSTATE"],
  [new StoreOpenError("damaged", ""), "damaged"],
  [new ConnectionLost("", { cause: serverError("57P01") }), "57P01"],
  [new ConnectionLost(""), "ConnectionLost"],
  [Object.assign(new Error("words"), { code: "EPIPE" }), "EPIPE"],
  [new TypeError("ours"), "TypeError"],
  ["words", "string"],
])("%o has the code %s", (error, code) => {
  expect(failureCode(error)).toBe(code);
});

test("no host is told with the code of each, and the last cause", () => {
  const error = noHost(serverError("57P01"), new ConnectionLost(""), new TypeError("ours"));
  expect(error.message).toBe(
    "no host can be used: h0 (57P01), h1 (ConnectionLost), h2 (TypeError)",
  );
  expect(error.cause).toBeInstanceOf(TypeError);
  expect(isSilent(noHost(new ConnectionLost("", { isSilent: true })))).toBe(true);
  expect(isSilent(noHost(new ConnectionLost("")))).toBe(false);
});

test.each<[Obstacle, readonly string[]]>([
  ["unreachable", ["08006", "53300", "57P01", "57P02", "57P03"]],
  ["read_only", ["25006"]],
  ["forbidden", ["28P01", "42501"]],
  ["damaged", ["42703", "42P01", "42P10"]],
  ["locked", ["40P01", "55P03", "57014"]],
  ["disk_full", ["53100"]],
  ["unwritable", ["53200", "XX000", ""]],
])("the obstacle %s is told by %j", (obstacle, codes) => {
  for (const code of codes) expect(obstacleFrom(serverError(code)), code).toBe(obstacle);
});

test.each<[Obstacle, unknown]>([
  ["not_durable", new StoreOpenError("not_durable", "")],
  ["read_only", new StoreOpenError("inaccessible", "")],
  ["damaged", new StoreOpenError("unsupported", "")],
  ["damaged", new StoreOpenError("damaged", "")],
  ["unwritable", new StoreOpenError("foreign", "")],
  ["unreachable", silent],
  ["unreachable", noHost(silent, silent)],
  // A host that answered.
  ["forbidden", noHost(silent, serverError("28P01"), silent)],
  ["unwritable", new TypeError("ours")],
])("the obstacle %s is told by %s", (obstacle, error) => {
  expect(obstacleFrom(error)).toBe(obstacle);
});

const ours = new StoreOpenError("newer_schema", "ours");

test.each<[StoreOpenErrorCode, RegExp, error: unknown, passes: boolean]>([
  ["inaccessible", /user or password.*28P01/, serverError("28P01"), false],
  ["inaccessible", /no such database.*3D000/, serverError("3D000"), false],
  ["damaged", /missing.*42P01/, serverError("42P01"), false],
  ["in_use", /no connection left.*53300/, serverError("53300"), true],
  ["inaccessible", /starting up.*57P03/, noHost(silent, serverError("57P03")), true],
  ["inaccessible", /reports an error.*XX000/, serverError("XX000"), false],
  ["newer_schema", /^ours$/, noHost(serverError("28P01"), ours), false],
  [
    "inaccessible",
    /connect to h0 \(ConnectionLost\), h1 \(TypeError\);/,
    noHost(silent, new TypeError()),
    false,
  ],
  ["inaccessible", /connect to ConnectionLost;/, silent, false],
])("a store is not opened, %s: %s", (code, message, error, passes) => {
  const opening = openError(error);
  const cause = code === "newer_schema" ? undefined : error;
  expect(opening).toMatchObject({ name: "StoreOpenError", code });
  expect(opening.cause).toBe(cause);
  expect(opening.message).toMatch(message);
  expect(isPassing(error)).toBe(passes);
});
