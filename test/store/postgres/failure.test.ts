import pg from "pg";
import { expect, test } from "vitest";
import type { Obstacle } from "../../../src/plant.ts";
import { StoreOpenError, type StoreOpenErrorCode } from "../../../src/store/open-error.ts";
import {
  ConnectionLost,
  failureCode,
  isOfRow,
  isPassing,
  isSilent,
  mayPass,
  NoHost,
  obstacleFrom,
  openError,
  type Remedy,
  remedyFor,
  Unconfirmed,
} from "../../../src/store/postgres/failure.ts";

function serverError(state: string): unknown {
  const [code, routine] = state.split(" ");
  return Object.assign(new pg.DatabaseError("words", 5, "error"), { code, routine });
}

const errorsOf = (states: string) => states.split(" ").filter(Boolean).map(serverError);
const silent = new ConnectionLost("", { isSilent: true });
const noHost = (...errors: readonly unknown[]) =>
  new NoHost(new Map(errors.map((error, i) => [`h${i}`, error])));

test.each<[Remedy, states: string, readonly unknown[]]>([
  ["again", "08006 40001 40P01 40003 55P03 57014", [new Unconfirmed("")]],
  [
    "elsewhere",
    "08000 08003 08P01 25006 25P03 25P04 53300 57P01 57P02 57P03 57P05",
    [new ConnectionLost(""), noHost(serverError("28P01")), new StoreOpenError("inaccessible", "")],
  ],
  ["none", "23503 42P01 42501 53100 53200 XX000 22021 28P01 3D000", [new TypeError("ours")]],
  // A system error that looks like an SQLSTATE.
  ["none", "", [Object.assign(new Error("words"), { code: "57P01" })]],
])("the remedy %s is for %s, and %j", (remedy, states, errors) => {
  for (const error of [...errorsOf(states), ...errors]) expect(remedyFor(error)).toBe(remedy);
});

test.each([
  [true, ["22001", "23505", "23514", "38000", "45000", "54000", "99001", "MY001", "P0001"]],
  [false, ["23502", "42P01", "53100", "55000", "57014", "58030", "72000", "40001", "XX000", ""]],
  // No transaction gets a number, or the table has its largest size.
  [false, ["54000 GetNewTransactionId", "54000 mdextend"]],
])("one row may be the cause: %s for %j", (expected, codes) => {
  for (const code of codes) expect(isOfRow(serverError(code)), code).toBe(expected);
});

test.each([
  [serverError("40001"), "40001", true, false],
  [serverError("57P01"), "57P01", true, false],
  // Of a node that Citus has lost.
  [serverError("XX000"), "XX000", true, false],
  [serverError("XX001"), "XX001", false, false],
  [new pg.DatabaseError("words", 5, "error"), "no SQLSTATE", false, false],
  [new StoreOpenError("inaccessible", ""), "inaccessible", true, false],
  [new StoreOpenError("damaged", ""), "damaged", false, false],
  [new ConnectionLost("", { cause: serverError("57P01") }), "57P01", true, false],
  [new ConnectionLost(""), "ConnectionLost", true, false],
  [silent, "ConnectionLost", true, true],
  [noHost(silent, silent), "NoHost", true, true],
  [noHost(silent, new ConnectionLost("")), "NoHost", true, false],
  [Object.assign(new Error("words"), { code: "EPIPE" }), "EPIPE", false, false],
  [new TypeError("ours"), "TypeError", false, false],
  [new Error("The server does not support SSL"), "The server does not support SSL", false, false],
  ["words", "string", false, false],
])("%o has the code %s, a retry may succeed: %s, it was silent: %s", (error, code, may, quiet) => {
  expect(failureCode(error)).toBe(code);
  expect(mayPass(error)).toBe(may);
  expect(isSilent(error)).toBe(quiet);
});

test("all hosts are named that cannot be connected to, each with its reason", () => {
  const { message } = noHost(silent, serverError("57P03"));
  expect(message).toBe("cannot connect to h0 (ConnectionLost), h1 (57P03)");
});

test.each<[Obstacle, states: string, readonly unknown[]]>([
  ["unreachable", "08006 53300 57P01 57P02 57P03", [silent, noHost(silent, silent)]],
  ["read_only", "25006", [new StoreOpenError("inaccessible", "")]],
  // Also of one host, although others did not answer.
  ["forbidden", "28P01 42501", [noHost(silent, serverError("28P01"), silent)]],
  ["damaged", "3D000 3F000 42703 42P01 42P10", [new StoreOpenError("unsupported", "")]],
  ["damaged", "", [new StoreOpenError("damaged", "")]],
  ["locked", "40P01 55P03 57014", []],
  ["disk_full", "53100", []],
  ["not_durable", "", [new StoreOpenError("not_durable", "")]],
  ["unwritable", "53200 XX000", [serverError(""), new StoreOpenError("foreign", ""), new Error()]],
])("the obstacle %s is told by %s, and %j", (obstacle, states, errors) => {
  for (const error of [...errorsOf(states), ...errors]) expect(obstacleFrom(error)).toBe(obstacle);
});

const ours = new StoreOpenError("newer_schema", "ours");
const nobody = noHost(silent, new TypeError());
const lost = new ConnectionLost("the connection to h0 was lost");

test.each<[StoreOpenErrorCode, RegExp, error: unknown, passes: boolean]>([
  ["in_use", /no connection left.*53300/, serverError("53300"), true],
  ["in_use", /^cannot open the store: another program locks.*57014/, serverError("57014"), true],
  ["inaccessible", /^late; start the standby/, new Unconfirmed("late"), false],
  ["inaccessible", /starting up.*57P03/, noHost(silent, serverError("57P03")), true],
  ["inaccessible", /reports an error \(words, SQLSTATE XX000\)/, serverError("XX000"), false],
  ["newer_schema", /^ours$/, noHost(serverError("28P01"), ours), false],
  ["inaccessible", /connect to h0 \(ConnectionLost\), h1 \(TypeError\);/, nobody, false],
  ["inaccessible", /^the connection to h0 was lost;/, lost, false],
])("a store is not opened, %s: %s", (code, message, error, passes) => {
  const opening = openError(error);
  expect(opening).toMatchObject({ name: "StoreOpenError", code });
  expect(opening.cause).toBe(code === "newer_schema" ? undefined : error);
  expect(opening.message).toMatch(message);
  expect(isPassing(error)).toBe(passes);
});
