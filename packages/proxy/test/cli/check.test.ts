/** `--check`: what would be served, and what is wrong. */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { addReflection, ServerReflection } from "connect-gateway/reflection";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { file_grpc_health_v1_health } from "../../../gateway/gen/grpc/health/v1/health_pb.ts";
import { createCatalog } from "../../../gateway/test/catalog-server.ts";
import {
  CatalogService,
  file_library_v1_catalog,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { file_library_v1_fields } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import {
  createTemporaryFolder,
  type TemporaryFolder,
} from "../../../gateway/test/support/temporary-folder.ts";
import { openUpstream } from "../services/open-proxy.ts";
import { runCommand } from "./command.ts";
import { oddFile, reflecting } from "./reflecting.ts";

let folder: TemporaryFolder;
const away = ["--upstream", "http://127.0.0.1:1"];
const described = [...away, "--descriptors", "services.binpb"];
const getVolume = "library.v1.CatalogService.GetVolume";

beforeAll(async () => {
  folder = await createTemporaryFolder();
  const set = descriptorSetOf(file_library_v1_catalog, file_library_v1_fields);
  await writeFile(join(folder.path, "services.binpb"), set);
});

afterAll(() => folder[Symbol.asyncDispose]());

const check = (...args: readonly string[]) => runCommand(["--check", ...args], folder.path);

const catalogLines = `library.v1.CatalogService at http://127.0.0.1:1
  GetVolume                unary          GET /v1/{name=shelves/*/volumes/*}
  GetVolume                unary          GET /v1/volumes/{id}
`;

test("tells each method with its routes and its form, without an upstream at hand", async () => {
  const { exitCode, stdout, stderr } = await check(...described);
  expect(stderr).toBe("");
  expect(exitCode).toBe(0);
  expect(stdout).toContain(catalogLines);
  expect(stdout).toContain(
    "  ImportVolumes            client stream  POST /v1/{parent=shelves/*}/volumes:import  (body volume)\n",
  );
  expect(stdout).toContain("library.v1.FieldService at http://127.0.0.1:1\n");
});

test("tells what is wrong with the URL of an upstream", async () => {
  await using upstream = await openUpstream((router) => addReflection(router));
  const http1 = createServer((_, response) => void response.end());
  http1.listen(0, "127.0.0.1");
  onTestFinished(() => void http1.close());
  await once(http1, "listening");
  const rows = [
    [
      upstream.url.replace("http:", "https:"),
      "TLS failed: wrong version number; the server may speak plaintext",
    ],
    [
      `http://127.0.0.1:${(http1.address() as AddressInfo).port}`,
      "the server does not speak HTTP/2",
    ],
  ] as const;
  for (const [url, reason] of rows) {
    const { exitCode, stderr } = await check("--upstream", url, "--reflection");
    expect(exitCode).toBe(1);
    expect(stderr).toBe(`connect-gateway-proxy: ${url}: [unavailable] ${reason}\n`);
  }
});

test("tells the same of a server that has reflection", async () => {
  await using upstream = await openUpstream((router) => {
    router.service(CatalogService, createCatalog());
    addReflection(router);
  });
  const { exitCode, stdout } = await check("--upstream", upstream.url, "--reflection");
  expect(exitCode).toBe(0);
  expect(stdout).toContain(catalogLines.replace("http://127.0.0.1:1", upstream.url));
});

test("rules replace annotations, and may leave a method to RPC", async () => {
  const file = join(folder.path, "rules.yaml");
  await writeFile(
    file,
    `http: { rules: [{ selector: ${getVolume} }, { selector: library.v1.CatalogService.ReadFile, post: /files, body: "*" }] }`,
  );
  const { exitCode, stdout } = await check(...described, "--rules", file);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(
    "GetVolume                unary          gRPC, gRPC-Web and Connect alone",
  );
  expect(stdout).toContain("ReadFile                 unary          POST /files  (body *)");
});

test("a service of gRPC's own packages is served if it is named", async () => {
  const set = descriptorSetOf(file_library_v1_catalog, file_grpc_health_v1_health);
  await writeFile(join(folder.path, "health.binpb"), set);
  const args = [...away, "--descriptors", "health.binpb"];
  expect((await check(...args)).stdout).not.toContain("grpc.health.v1.Health");
  const own = "grpc.health.v1.Health=unix:health.sock";
  const { exitCode, stdout } = await check(...args, "--upstream", own);
  expect(exitCode).toBe(0);
  expect(stdout).toContain("grpc.health.v1.Health at unix:health.sock\n");
});

const whole = file_library_v1_fields.proto;
const validate = oddFile({ path: "/v1/odd", dependency: ["buf/validate/validate.proto"] });

test.each<[what: string, files: FileDescriptorProto[], message: string, exitCode: number]>([
  ["an import is missing", [validate], "buf/validate/validate.proto is missing", 0],
  ["no method has a route", [oddFile()], "give --rules FILE", 0],
  ["a file cannot be used", [whole, oddFile({ type: ".a.B" })], "odd.proto cannot be used: ", 1],
  ["a rule cannot be served", [oddFile({ path: "/v1/{text=**}/tail" })], "{text=**}/tail", 1],
  ["there is no service", [], "lists no service to serve", 1],
])(
  "it says what is wrong in a server's reflection: %s",
  async (_what, files, message, exitCode) => {
    await using upstream = await openUpstream((router) => {
      router.service(
        ServerReflection,
        reflecting(() => files),
      );
    });
    const ended = await check("--upstream", upstream.url, "--reflection");
    expect(ended.stderr).toContain(message);
    expect(ended.exitCode).toBe(exitCode);
  },
);

test("a service goes to the upstream that names it", async () => {
  const own = "library.v1.FieldService=https://b.example:443";
  const { exitCode, stdout } = await check(...described, "--upstream", own);
  expect(exitCode).toBe(0);
  expect(stdout).toContain("library.v1.CatalogService at http://127.0.0.1:1\n");
  expect(stdout).toContain("library.v1.FieldService at https://b.example\n");
});

describe("what is wrong", () => {
  test.each([
    [
      "a selector that no method has",
      `{ selector: ${getVolume}s, get: /a }`,
      `${getVolume}s: no method`,
    ],
    [
      "a field that there is not",
      `{ selector: ${getVolume}, get: "/a/{isbn}" }`,
      "has no field isbn",
    ],
    [
      "a route that is taken",
      `{ selector: ${getVolume}, get: "/v1/files/{name=**}" }`,
      "/v1/files/{path=**}",
    ],
  ])("%s", async (_what, rule, message) => {
    const file = join(folder.path, "wrong.yaml");
    await writeFile(file, `http: { rules: [${rule}] }`);
    const { exitCode, stderr } = await check(...described, "--rules", file);
    expect(stderr).toContain(message);
    expect(exitCode).toBe(1);
  });

  test.each<[what: string, args: readonly string[], message: string, exitCode: number]>([
    ["no upstream", ["--reflection"], "--upstream: is missing", 2],
    ["no services", away, "--descriptors: is missing: name a file, or use --reflection", 2],
    [
      "both kinds of services",
      [...described, "--reflection"],
      "--descriptors: cannot be used with --reflection",
      2,
    ],
    ["no URL", ["--upstream", "127.0.0.1:1", "--reflection"], "must be http://HOST:PORT", 2],
    [
      "two upstreams for all",
      [...described, "--upstream", "http://127.0.0.1:2"],
      "library.v1.CatalogService is at http://127.0.0.1:1 and at http://127.0.0.1:2",
      2,
    ],
    [
      "a service that there is not",
      [...described, "--upstream", "a.B=http://127.0.0.1:2"],
      "no such service; choose from library.v1.CatalogService",
      2,
    ],
    ["no file", [...away, "--descriptors", "none"], "none: ", 2],
    [
      "a flag for a service that no upstream has",
      [...described, "--upstream-ca", "a.B=ca.pem"],
      "no upstream has that service; add --upstream a.B=URL",
      2,
    ],
    ["an origin without a scheme", [...described, "--cors-origin", "a.example"], "a.example", 2],
    ["an origin with a path", [...described, "--cors-origin", "https://a/"], "https://a/", 2],
    [
      "credentials for all pages",
      [...described, "--cors-origin", "*", "--cors-credentials"],
      "name the origins",
      2,
    ],
    ["CORS without origins", [...described, "--cors-exposed-headers", "a"], "without origins", 2],
    ["the host of no port", [...described, "--admin-host", "::1"], "without a port", 2],
    [
      "the port of a socket",
      [...described, "--host", "unix:a.sock", "--port", "1"],
      "--host is a Unix socket",
      2,
    ],
    ["an unknown flag", [...described, "--prot", "1"], "--prot", 2],
    ["a port past all", [...described, "--port", "65536"], "--port: must be", 2],
    [
      "a certificate without its key",
      [...described, "--tls-cert", "a"],
      "--tls-key: is missing",
      2,
    ],
    ["a CA that is not there", [...described, "--upstream-ca", "none.pem"], "none.pem", 2],
    ["an upstream that is away", [...away, "--reflection"], "http://127.0.0.1:1: ", 1],
  ])("%s", async (_what, args, message, exitCode) => {
    const ended = await check(...args);
    expect(ended.stderr).toContain(message);
    // A second line at most: what was meant, perhaps.
    expect(ended.stderr).toMatch(/^[^\n]+\n(\(Did you mean [^\n]+\)\n)?$/);
    expect(ended.exitCode).toBe(exitCode);
  });
});
