/** deploy/kubernetes agrees with itself, with the code, and with the image. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createHealthHandlers } from "connect-gateway/health";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { parsePostgresUrl } from "../../src/server/postgres-url.ts";
import { defaultConnectionsMax } from "../../src/store/postgres/limits.ts";
import { runChild } from "../support/child.ts";
import { environmentOf, textOf } from "./containerfile.ts";
import {
  expectSettings,
  port,
  readAllYaml,
  readDeployFile,
  readImage,
  readYaml,
  stateFolder,
  stopSecondsMax,
} from "./facts.ts";

const folder = "deploy/kubernetes";
const read = (file: string) => readYaml(`kubernetes/${file}`);
const kustomization = read("kustomization.yaml");
const deployment = read("deployment.yaml");
const service = read("service.yaml");
const budget = read("pod-disruption-budget.yaml");
const autoscaler = read("horizontal-pod-autoscaler.yaml");
const policy = read("network-policy.yaml");
const secret = read("secret.example.yaml");
const httpRoute = read("http-route.example.yaml");
const grpcRoute = read("grpc-route.example.yaml");
const ingress = read("ingress.example.yaml");
const pod = deployment.spec.template.spec;
const [container] = pod.containers;

const inForce = variablesInForce("plant-store", container);
const proxy = readAllYaml("connect-gateway-proxy/kubernetes.yaml");

interface Container {
  readonly env: readonly { name: string; value?: string; valueFrom?: { secretKeyRef: object } }[];
}

function variablesOf({ env }: Container): ReadonlyMap<string, string> {
  return new Map(env.map(({ name, value = "" }) => [name, value]));
}

/** Those of the image, and those of the manifest over them. */
function variablesInForce(image: string, container: Container): ReadonlyMap<string, string> {
  return new Map([...environmentOf(readImage(image)), ...variablesOf(container)]);
}

test("every file is applied, but for examples", () => {
  const files = readdirSync(folder).filter(
    (file) => file !== "kustomization.yaml" && !file.endsWith(".example.yaml"),
  );
  expect(new Set(kustomization.resources)).toEqual(new Set(files));
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(kustomization.images).toEqual([{ name: container.image, newTag: version }]);
});

describe.each([
  ["plant-store", deployment, service, budget],
  ["connect-gateway-proxy", ...proxy],
])("%s", (name, own, ownService, ownBudget) => {
  const { metadata, spec } = own.spec.template;
  const [ownContainer] = spec.containers;

  test("its objects select its pods", () => {
    const { labels } = metadata;
    expect(labels).toEqual({ "app.kubernetes.io/name": name });
    const spread = spec.topologySpreadConstraints[0].labelSelector;
    const selectors = [own.spec.selector, ownBudget.spec.selector, spread];
    expect(selectors.map(({ matchLabels }) => matchLabels)).toEqual([labels, labels, labels]);
    expect(ownService.spec.selector).toEqual(labels);
  });

  test("the port is the server's, all the way, over HTTP/2", () => {
    expect(ownContainer.ports[0]).toEqual({ name: "http", containerPort: port });
    const toPod = { targetPort: "http", appProtocol: "kubernetes.io/h2c" };
    expect(ownService.spec.ports).toMatchObject([toPod]);
  });

  test.each([
    ["startupProbe", "/healthz"],
    ["readinessProbe", "/readyz"],
    ["livenessProbe", "/healthz"],
  ] as const)("the %s asks %s, which there is", (probe, path) => {
    expect(ownContainer[probe].httpGet).toEqual({ path, port: "http" });
    expect(createHealthHandlers({ isReady: () => true }).has(path)).toBe(true);
  });

  test("a pod that ends has the time to drain, and then some", () => {
    const preStopSeconds = ownContainer.lifecycle.preStop.sleep.seconds;
    expect(preStopSeconds).toBeGreaterThan(0);
    const variables = variablesInForce(name, ownContainer);
    expect([...variables.keys()].join()).not.toContain("DRAIN_TIMEOUT_MS");
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(preStopSeconds + stopSecondsMax);
  });

  test("the pod meets the restricted Pod Security Standard, with a read-only root", () => {
    const { runAsUser, runAsGroup, ...context } = spec.securityContext;
    expect(`${runAsUser}:${runAsGroup}`).toBe(textOf(readImage(name), "USER"));
    const restricted = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
    expect(context).toMatchObject(restricted);
    expect(ownContainer.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(spec.automountServiceAccountToken).toBe(false);
  });
});

test("the store's policy and autoscaler are of its pods, and its volume is its user's", () => {
  expect(policy.spec.podSelector).toEqual(deployment.spec.selector);
  const { apiVersion, kind, metadata } = deployment;
  expect(autoscaler.spec.scaleTargetRef).toEqual({ apiVersion, kind, name: metadata.name });
  expect(pod.securityContext).toMatchObject({ fsGroup: 1000 });
  expect(container.volumeMounts).toEqual([{ name: "state", mountPath: stateFolder }]);
  expect(pod.volumes?.[0]?.name).toBe("state");
});

test("the proxy's settings are right, and its metrics are for other pods alone", async () => {
  const [{ spec }, { spec: toProxy }] = proxy;
  const [own] = spec.template.spec.containers;
  const { version } = JSON.parse(readFileSync("packages/proxy/package.json", "utf8"));
  expect(own.image).toBe(`connect-gateway-proxy:${version}`);
  const variables = variablesInForce("connect-gateway-proxy", own);
  await using cwd = await createTemporaryFolder();
  const program = join(import.meta.dirname, "../../packages/proxy/src/cli/main.ts");
  const options = { cwd: cwd.path, env: Object.fromEntries(variables), program };
  expect(await runChild(["config", "check"], options)).toMatchObject({ code: 0, stderr: "" });
  const metrics = Number(variables.get("CONNECT_GATEWAY_ADMIN_PORT"));
  expect(own.ports[1]).toEqual({ name: "metrics", containerPort: metrics });
  expect(toProxy.ports).toMatchObject([{ targetPort: "http" }]);
});

test("the settings exist, and each secret has a key in the example", async () => {
  await expectSettings(variablesOf(container));
  const { env }: Container = container;
  const refs = env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
  const keys = Object.keys(secret.stringData);
  expect(refs).toEqual(keys.map((key) => ({ name: secret.metadata.name, key })));
  expect(new Set(Object.values(secret.stringData))).toEqual(new Set(["REPLACE"]));
});

test("the store's port and database are open to the policy", () => {
  expect(inForce.get("PLANT_STORE_PORT")).toBe(String(port));
  expect(policy.spec.ingress[0]?.ports).toEqual([{ protocol: "TCP", port: "http" }]);
  const { hosts } = parsePostgresUrl(inForce.get("PLANT_STORE_STORE")?.replace(/^\w+:/, "") ?? "");
  const toStore = expect.arrayContaining([{ protocol: "TCP", port: hosts[0]?.port }]);
  expect(policy.spec.egress).toContainEqual(expect.objectContaining({ ports: toStore }));
});

test("the examples of routes lead to the service, over HTTP/2", () => {
  const { name } = service.metadata;
  const [{ port: number } = {}] = service.spec.ports;
  for (const { spec } of [httpRoute, grpcRoute]) {
    expect(spec.rules).toMatchObject([{ backendRefs: [{ name, port: number }] }]);
  }
  const backend = { service: { name, port: { number } } };
  expect(ingress.spec.rules).toMatchObject([{ http: { paths: [{ backend }] } }]);
  expect(ingress.spec.tls[0].hosts).toEqual([ingress.spec.rules[0].host]);
  // A listener accepts only one of the two for the same name.
  for (const one of grpcRoute.spec.hostnames) expect(httpRoute.spec.hostnames).not.toContain(one);
});

test("a start may take as long as a migration and the patience before it", () => {
  const { periodSeconds, failureThreshold } = container.startupProbe;
  expect(periodSeconds * failureThreshold).toBeGreaterThan(60 + 10);
});

test("at its largest, with one more for a roll-out, it leaves most connections of a PostgreSQL", () => {
  const url = inForce.get("PLANT_STORE_STORE") ?? "";
  const { connectionsMax } = parsePostgresUrl(url.replace(/^postgres:/, ""));
  expect(connectionsMax).toBe(defaultConnectionsMax);
  const pods = autoscaler.spec.maxReplicas + deployment.spec.strategy.rollingUpdate.maxSurge;
  const comment = readDeployFile("kubernetes/horizontal-pod-autoscaler.yaml");
  expect(comment).toContain(`${pods * connectionsMax} of the 100 connections`);
  expect(autoscaler.spec.minReplicas).toBeGreaterThan(budget.spec.maxUnavailable);
});
