/** deploy/kubernetes agrees with itself, with the code, and with the image. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { defaultConnectionsMax } from "../../src/store/postgres/limits.ts";
import { environmentOf, parseContainerfile } from "./containerfile.ts";
import {
  expectSettings,
  isHealthPath,
  port,
  readDeployFile,
  readYaml,
  stateFolder,
  stopSecondsMax,
} from "./facts.ts";
import type {
  AutoscalerSpec,
  BudgetSpec,
  DeploymentSpec,
  IngressSpec,
  Manifest,
  PolicySpec,
  RouteSpec,
  ServiceSpec,
} from "./manifests.ts";

const folder = fileURLToPath(new URL("../../deploy/kubernetes", import.meta.url));
const read = <Spec>(file: string) => readYaml(`kubernetes/${file}`) as Manifest<Spec>;
const kustomization = readYaml("kubernetes/kustomization.yaml") as {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
};
const deployment = read<DeploymentSpec>("deployment.yaml");
const service = read<ServiceSpec>("service.yaml");
const budget = read<BudgetSpec>("pod-disruption-budget.yaml");
const autoscaler = read<AutoscalerSpec>("horizontal-pod-autoscaler.yaml");
const policy = read<PolicySpec>("network-policy.yaml");
const secret = readYaml("kubernetes/secret.example.yaml") as Manifest & {
  readonly stringData: Readonly<Record<string, string>>;
};
const httpRoute = read<RouteSpec>("http-route.example.yaml");
const grpcRoute = read<RouteSpec>("grpc-route.example.yaml");
const ingress = read<IngressSpec>("ingress.example.yaml");
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const image = parseContainerfile(readDeployFile("Containerfile")).at(-1);
if (image === undefined || container === undefined) throw new Error("no image or container");

const plainVariables = new Map<string, string>(
  container.env.flatMap(({ name, value = "" }: { name: string; value?: string }) => [
    [name, value],
  ]),
);
// What the container runs with: the image's variables, and those of the manifest over them.
const inForce = new Map([...environmentOf(image), ...plainVariables]);

test("every file is applied, but for examples", () => {
  const files = readdirSync(folder).filter(
    (file) => file !== "kustomization.yaml" && !file.endsWith(".example.yaml"),
  );
  expect(new Set(kustomization.resources)).toEqual(new Set(files));
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(kustomization.images).toEqual([{ name: container.image, newTag: version }]);
});

test("everything selects the pods of the deployment", () => {
  const { labels } = deployment.spec.template.metadata;
  expect(labels).toEqual({ "app.kubernetes.io/name": "plant-store" });
  for (const selector of [
    deployment.spec.selector.matchLabels,
    service.spec.selector,
    budget.spec.selector.matchLabels,
    policy.spec.podSelector.matchLabels,
    pod.topologySpreadConstraints[0]?.labelSelector.matchLabels,
  ]) {
    expect(selector).toEqual(labels);
  }
  const { apiVersion, kind, metadata } = deployment;
  expect(autoscaler.spec.scaleTargetRef).toEqual({ apiVersion, kind, name: metadata.name });
});

test("the settings exist, and each secret has a key in the example", async () => {
  await expectSettings(plainVariables);
  const refs = container.env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
  const keys = Object.keys(secret.stringData);
  expect(refs).toEqual(keys.map((key) => ({ name: secret.metadata.name, key })));
  expect(new Set(Object.values(secret.stringData))).toEqual(new Set(["REPLACE"]));
});

test("the port is the server's, all the way", () => {
  expect(container.ports).toEqual([{ name: "http", containerPort: port }]);
  expect(inForce.get("PLANT_STORE_PORT")).toBe(String(port));
  expect(service.spec.ports[0]?.targetPort).toBe("http");
  expect(policy.spec.ingress[0]?.ports).toEqual([{ protocol: "TCP", port: "http" }]);
  const { hosts } = parseAddress(inForce.get("PLANT_STORE_STORE")?.replace(/^\w+:/, "") ?? "");
  expect(policy.spec.egress.flatMap(({ ports }) => ports)).toContainEqual({
    protocol: "TCP",
    port: hosts[0]?.port,
  });
});

test("the examples of routes lead to the service, over HTTP/2", () => {
  const { name } = service.metadata;
  const [{ port: number, appProtocol } = {}] = service.spec.ports;
  expect(appProtocol).toBe("kubernetes.io/h2c");
  for (const { spec } of [httpRoute, grpcRoute]) {
    expect(spec.rules.map(({ backendRefs }) => backendRefs)).toEqual([[{ name, port: number }]]);
  }
  const backends = ingress.spec.rules.flatMap(({ http }) => http.paths.map((one) => one.backend));
  expect(backends).toEqual([{ service: { name, port: { number } } }]);
  expect(ingress.spec.tls[0]?.hosts).toEqual(ingress.spec.rules.map(({ host }) => host));
  // A listener accepts only one of the two for the same name.
  for (const one of grpcRoute.spec.hostnames) expect(httpRoute.spec.hostnames).not.toContain(one);
});

describe("probes", () => {
  test.each([
    ["startupProbe", "/healthz"],
    ["readinessProbe", "/readyz"],
    ["livenessProbe", "/healthz"],
  ] as const)("the %s asks %s, which there is", (name, path) => {
    expect(container[name].httpGet).toEqual({ path, port: "http" });
    expect(isHealthPath(path)).toBe(true);
  });

  test("a start may take as long as a migration and the patience before it", () => {
    const { periodSeconds, failureThreshold } = container.startupProbe;
    expect(periodSeconds * failureThreshold).toBeGreaterThan(60 + 10);
  });
});

test("a pod that ends has the time to drain, and then some", () => {
  const preStopSeconds = container.lifecycle.preStop.sleep.seconds;
  expect(preStopSeconds).toBeGreaterThan(0);
  expect(inForce.has("PLANT_STORE_DRAIN_TIMEOUT_MS")).toBe(false);
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(preStopSeconds + stopSecondsMax);
});

test("the pod meets the restricted Pod Security Standard, with a read-only root", () => {
  expect(pod.securityContext).toMatchObject({
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
  });
  const [user, group] =
    image.instructions.find(({ name }) => name === "USER")?.text.split(":") ?? [];
  expect(pod.securityContext).toMatchObject({
    runAsUser: Number(user),
    runAsGroup: Number(group),
    fsGroup: Number(group),
  });
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  expect(pod.automountServiceAccountToken).toBe(false);
  expect(container.volumeMounts).toEqual([{ name: "state", mountPath: stateFolder }]);
  expect(pod.volumes[0]?.name).toBe("state");
});

test("at its largest, with one more for a roll-out, it leaves most connections of a PostgreSQL", () => {
  const url = inForce.get("PLANT_STORE_STORE") ?? "";
  const { connectionsMax } = parseAddress(url.replace(/^postgres:/, ""));
  expect(connectionsMax).toBe(defaultConnectionsMax);
  const pods = autoscaler.spec.maxReplicas + deployment.spec.strategy.rollingUpdate.maxSurge;
  const comment = readDeployFile("kubernetes/horizontal-pod-autoscaler.yaml");
  expect(comment).toContain(`${pods * connectionsMax} of the 100 connections`);
  expect(autoscaler.spec.minReplicas).toBeGreaterThan(budget.spec.maxUnavailable);
});

const hasKubectl = (() => {
  try {
    execFileSync("kubectl", ["kustomize", "--help"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!hasKubectl)(
  "kubectl puts them together",
  () => {
    const text = execFileSync("kubectl", ["kustomize", folder], { encoding: "utf8" });
    for (const { kind } of [deployment, service, budget, autoscaler, policy]) {
      expect(text).toContain(`kind: ${kind}\n`);
    }
    expect(text).toContain(`image: plant-store:${kustomization.images[0]?.newTag}`);
  },
  30_000,
);
