/** deploy/systemd: by systemd's own tools where they are, and by its text. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { defaultLimits } from "connect-gateway/limits";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { expectSettings, readDeployFile, stateFolder, stopSecondsMax } from "./facts.ts";

const analyze = (...args: readonly string[]) =>
  spawnSync("systemd-analyze", args, { encoding: "utf8" });

/** What systemd has to say about a unit; some releases fail where others warn. */
function complaintsAbout(path: string, unit: string): string[] {
  // As installed, but with programs that are on this machine.
  writeFileSync(path, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
  const { stderr } = analyze("verify", "--man=no", path);
  return stderr.split("\n").filter((line) => line.includes(basename(path)));
}

describe.each(["plant-store.service", "plant-store@.service"])("%s", (file) => {
  const unit = readDeployFile(`systemd/${file}`);
  const values = (name: string) =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);

  const isMissing = analyze("--version").status !== 0;
  test.skipIf(isMissing)("systemd understands every line, and finds little exposed", async () => {
    await using folder = await createTemporaryFolder();
    const path = join(folder.path, file.replace("@", "@1"));
    // Else the next line would prove nothing.
    expect(complaintsAbout(path, `${unit}\n[Service]\nNoSuch=1\n`)).toHaveLength(1);
    expect(complaintsAbout(path, unit)).toEqual([]);
    // In tenths, of 100 for a service without any of this; it was 14 when this was written.
    const { status, stdout } = analyze("security", "--offline=yes", "--threshold=20", path);
    expect(status, stdout).toBe(0);
  });

  test("it runs the program of an installation, with settings that exist", async () => {
    const { name, bin } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(values("ExecStart")).toEqual([
      `/usr/bin/node /opt/plant-store/node_modules/${name}/${bin["plant-store"]} serve`,
    ]);
    const pairs = values("Environment").map((value) => value.split(/=(.*)/s));
    const variables = new Map(pairs.map(([key = "", value = ""]) => [key, value]));
    await expectSettings(variables);
    // ProtectSystem=strict leaves nothing else to write to.
    expect(`/var/lib/${values("StateDirectory")}`).toBe(stateFolder);
    expect(values("WorkingDirectory")).toEqual([stateFolder]);
    if (file === "plant-store.service") {
      expect(variables.get("PLANT_STORE_STORE")).toMatch(`sqlite:${stateFolder}/`);
    } else {
      // Its store is PostgreSQL, with a password: in the file that only root reads, which must be there.
      expect(variables.get("PLANT_STORE_STORE")).toBeUndefined();
      expect(values("EnvironmentFile")).toEqual(["/etc/plant-store/environment"]);
      expect(variables.get("PLANT_STORE_REUSE_PORT")).toBe("on");
    }
    expect(variables.get("PLANT_STORE_TOKEN_FILE")).toMatch(`${stateFolder}/`);
  });

  test("it gives the time to drain, and a file to every connection", () => {
    expect(Number(values("TimeoutStopSec"))).toBeGreaterThan(stopSecondsMax);
    expect(Number(values("LimitNOFILE"))).toBeGreaterThan(defaultLimits.connectionsMax);
  });

  test.each([
    // A start has ended once calls are served, however long a migration takes.
    ["Type", "notify"],
    ["NotifyAccess", "all"],
    ["TimeoutStartSec", "1h"],
    ["KillSignal", "SIGTERM"],
    // The exit code of a wrong setting.
    ["RestartPreventExitStatus", "2"],
    // It is confined, as far as V8 lets it.
    ["DynamicUser", "yes"],
    ["NoNewPrivileges", "yes"],
    ["ProtectSystem", "strict"],
    ["CapabilityBoundingSet", ""],
    ["MemoryDenyWriteExecute", "no"],
    ["SystemCallErrorNumber", "EPERM"],
    ["SystemCallFilter", "@system-service", "~@privileged"],
  ])("it has %s=%s", (name, ...wanted) => expect(values(name)).toEqual(wanted));
});
