import { SettingsError } from "connect-gateway-kit/settings";
import { afterEach, describe, expect, test } from "vitest";
import { resolveSettings, type ServerOptions } from "../../../src/server/settings.ts";

describe("settings", () => {
  test("keep the defaults of what a partial leaves out", () => {
    const { limits } = resolveSettings({ limits: { streamsMax: 3 } });
    expect(limits).toEqual({ ...resolveSettings({}).limits, streamsMax: 3 });
  });

  test.each<ServerOptions>([
    { port: 0 },
    { host: "0.0.0.0", port: 9464, adminHost: "::1", adminPort: 9464 },
    { basePath: "/a/b.c/~d-e_f" },
    { corsOrigins: ["*"] },
    { limits: { connectionsExempt: ["10.0.0.1", "10.0.0.0/8", "fd00::/8", "::1"] } },
    { corsOrigins: ["https://app.example", "http://[::1]:5173", "capacitor://localhost"] },
    { rateLimitPerToken: 100_000, rateLimitPerAddress: 1 },
  ])("take %j", (options) => {
    expect(resolveSettings(options)).toMatchObject(options);
  });

  test.each<[ServerOptions, RegExp]>([
    [{ port: -1 }, /^port: must be a whole number from 0 to 65535: -1$/],
    [{ drainTimeoutMs: 2 ** 31 }, /^drainTimeoutMs/],
    [{ accessLog: "some" as "on" }, /^accessLog: must be on, errors or off$/],
    [{ logFormat: "xml" as "json" }, /^logFormat: must be auto, json or text$/],
    [{ limits: { bodyBytesMax: 0 } }, /^bodyBytesMax/],
    [{ corsOrigins: ["app.example"] }, /^corsOrigin: must be origins like/],
    [{ limits: { connectionsExempt: ["proxy.example"] } }, /^connectionsExempt: must be addresse/],
    [{ corsOrigins: ["null"] }, /^corsOrigin/],
    [{ corsOrigins: ["https://App.example"] }, /^corsOrigin/],
    [{ corsOrigins: ["*", "https://app.example"] }, /^corsOrigin/],
    [{ rateLimitPerToken: -1 }, /^rateLimitPerToken: must be a whole number from 0 to 100000: -1$/],
    [{ basePath: "/" }, /^basePath: /],
    [{ basePath: "/api/" }, /^basePath: /],
  ])("refuse %j", (options, message) => {
    expect(() => resolveSettings(options)).toThrow(SettingsError);
    expect(() => resolveSettings(options)).toThrow(message);
  });

  const { platform } = process;
  const pretend = (value: NodeJS.Platform) => Object.defineProperty(process, "platform", { value });
  afterEach(() => pretend(platform));

  const postgres = "postgres://ada@localhost/plants";
  test.each<[NodeJS.Platform, string, RegExp | undefined]>([
    ["linux", postgres, undefined],
    ["linux", "SQLITE:plants.db", /^reusePort: must be off unless store is PostgreSQL/],
    ["darwin", postgres, /^reusePort: must be off: only Linux/],
    ["win32", postgres, /^reusePort: must be off: only Linux/],
  ])("have servers share a port by machine and store: %s, %s", (system, store, message) => {
    pretend(system);
    const resolve = () => resolveSettings({ reusePort: true, store });
    if (message === undefined) expect(resolve()).toMatchObject({ reusePort: true });
    else expect(resolve).toThrow(message);
  });

  test("refuse to let nobody in", () => {
    expect(() => resolveSettings({ auth: { tokenFile: undefined } })).toThrow(SettingsError);
  });
});
