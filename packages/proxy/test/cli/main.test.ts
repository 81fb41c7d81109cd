import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { nodeOfSources } from "../../../gateway/test/runtimes/server-process.ts";
import { main } from "./command.ts";

test.each([
  ["20.20.2", 1],
  ["22.9.0", 1],
  ["22.10.0", 0],
  ["100.0.0", 0],
])("on Node %s, the exit code is %s", (node, code) => {
  const { engines } = JSON.parse(readFileSync("packages/proxy/package.json", "utf8"));
  expect(engines.node).toBe(">=22.10");
  const script = `Object.defineProperty(process.versions, "node", { value: "${node}" });`;
  const [command, ...conditions] = nodeOfSources;
  const early = ["--import", `data:text/javascript,${encodeURIComponent(script)}`];
  const args = [...conditions, ...early, main, "--version"];
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  const tooOld = `connect-gateway-proxy: needs Node 22.10 or later; this is Node ${node}\n`;
  expect({ status, stderr }).toEqual({ status: code, stderr: code === 0 ? "" : tooOld });
});
