import { describe, expect, onTestFinished, test, vi } from "vitest";
import { parsePostgresUrl } from "../../../src/server/postgres-url.ts";
import { type PostgresAddress, tlsOptionsFor } from "../../../src/store/postgres/address.ts";
import { openStore } from "../../support/open-store.ts";

describe("a store URL", () => {
  const at = (name: string, port = 5432) => ({ name, port });
  const unsafe = ["fsync", "full_page_writes"];

  test.each<[string, Partial<PostgresAddress>]>([
    ["//u:p@h/d", { hosts: [at("h")], user: "u", password: "p", database: "d" }],
    ["//u@h:1", { hosts: [at("h", 1)], user: "u", database: "u" }],
    ["//u@h1:5432,h2,[::1]:7/d", { hosts: [at("h1"), at("h2"), at("::1", 7)] }],
    ["//u@%2Frun%2Fpostgresql:7/d", { hosts: [at("/run/postgresql", 7)] }],
    ["//u@/d", { hosts: [at("localhost")] }],
    ["//u%40x:p%3A%2F%3F%23:r@h/d%20e", { user: "u@x", password: "p:/?#:r", database: "d e" }],
    ["//u@h", { connectionsMax: 4, allowUnsafe: new Set() }],
    ["//u@h/?pool_max_conns=100&target_session_attrs=primary", { connectionsMax: 100 }],
    ["//u@h/d?allow_unsafe=fsync,full_page_writes", { allowUnsafe: new Set(unsafe) }],
  ])("postgres:%s is parsed", (location, expected) => {
    expect(parsePostgresUrl(location)).toMatchObject(expected);
  });

  test.each<[string, RegExp]>([
    ["", /write postgres:/],
    ["//u:sec#ret@h/d", /write postgres:/],
    ["//u:sec?ret@h/d", /add a user/],
    ["//u:%zzsecret@h/d", /%25/],
    ["//h/d", /add a user/],
    ["//u:secret@h:0/d", /port/],
    ["//u:secret@::1/d", /a host is/],
    ["//u@h/d?password=secret", /the supported settings are sslmode/],
    ["//u@h/d?sslmode=secret", /sslmode: must be disable, require or verify-full/],
    ["//u@h/d?sslmode=require&sslmode=disable", /twice/],
    ["//u@h/d?sslrootcert=/secret&sslmode=verify-full", /sslrootcert: names a file that cannot/],
    ["//u@h/d?sslrootcert=package.json&sslmode=verify-full", /read as certificates in PEM/],
    ["//u@h/d?target_session_attrs=any", /read-write or primary/],
    ["//u@h/d?pool_max_conns=101", /from 1 to 100/],
    ["//u@h/d?pool_max_conns=", /has no value/],
    ["//u@h/d?sslmode=x&pool_max_conns=0", /sslmode: .*; pool_max_conns: /],
    ["//u@h/d?allow_unsafe=secret", /fsync, full_page_writes/],
    ["//u@h/d?toString=secret", /the supported settings are/],
  ])("postgres:%s is rejected, and no part of it is repeated", async (location, message) => {
    const opening = openStore(`postgres:${location}`);
    await expect(opening).rejects.toMatchObject({ name: "SettingsError" });
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.not.toThrow(/secret|ret@/);
  });

  test("may leave its password to the environment", () => {
    vi.stubEnv("PGPASSWORD", "given");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(parsePostgresUrl("//u@h").password).toBe("given");
    expect(parsePostgresUrl("//u:own@h").password).toBe("own");
    vi.stubEnv("PGPASSWORD", undefined);
    expect(parsePostgresUrl("//u@h").password).toBe("");
  });

  test.each<[string, false | object]>([
    ["//u@db.example", { rejectUnauthorized: false }],
    ["//u@localhost", false],
    ["//u@[::1]", false],
    ["//u@%2Frun", false],
    ["//u@db.example?sslmode=disable", false],
    ["//u@127.0.0.1?sslmode=require", { rejectUnauthorized: false }],
    ["//u@db.example?sslmode=verify-full", { rejectUnauthorized: true }],
    ["//u@%2Frun?sslmode=verify-full", false],
  ])("postgres:%s means TLS: %j", (location, expected) => {
    const address = parsePostgresUrl(location);
    const [host] = address.hosts;
    expect(host && tlsOptionsFor(address, host)).toEqual(expected);
  });
});
