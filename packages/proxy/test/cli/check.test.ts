/** `--check`: what would be served, and what is wrong. */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { addReflection } from "connect-gateway/reflection";
import { beforeAll, describe, expect, test } from "vitest";
import { file_grpc_health_v1_health } from "../../../gateway/gen/grpc/health/v1/health_pb.ts";
import { file_library_v1_catalog } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { file_library_v1_fields } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { listen } from "../../../gateway/test/support/free-port.ts";
import { openUpstream } from "../services/open-proxy.ts";
import { useFolder } from "./command.ts";
import { addReflecting, oddFile } from "./reflecting.ts";

const folder = useFolder(file_library_v1_catalog, file_library_v1_fields);
const away = ["--upstream", "http://127.0.0.1:1"];
const described = [...away, "--descriptors", "services.binpb"];
const getVolume = "library.v1.CatalogService.GetVolume";

const check = (...args: readonly string[]) => folder.run("--check", ...args);

const catalogLines = `library.v1.CatalogService at http://127.0.0.1:1
  GetVolume                unary          GET /v1/{name=shelves/*/volumes/*}
  GetVolume                unary          GET /v1/volumes/{id}
`;

test("tells each method with its routes and its form, without an upstream at hand", async () => {
  const { exitCode, stdout, stderr } = await check(...described);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toContain(catalogLines);
  expect(stdout).toContain(
    "  ImportVolumes            client stream  POST /v1/{parent=shelves/*}/volumes:import  (body volume)\n",
  );
  expect(stdout).toContain("library.v1.FieldService at http://127.0.0.1:1\n");
});

test("tells what is wrong with the URL of an upstream", async () => {
  await using upstream = await openUpstream((router) => addReflection(router));
  await using http1 = await listen(createServer((_, response) => void response.end()));
  await using closing = await listen(createTcpServer((socket) => void socket.destroy()));
  const secure = upstream.url.replace("http:", "https:");
  const closes = "the server closed the connection before it spoke HTTP/2";
  const rows = [
    [closing.url, `${closes}; it may expect TLS, or a client certificate`],
    [secure, "TLS failed: wrong version number; the server may speak plaintext"],
    [http1.url, "the server does not speak HTTP/2"],
  ] as const;
  for (const [url, reason] of rows) {
    const stderr = `connect-gateway-proxy: ${url}: [unavailable] ${reason}\n`;
    expect(await check("--upstream", url, "--reflection")).toMatchObject({ exitCode: 1, stderr });
  }
});

test("rules replace annotations, and may leave a method to RPC", async () => {
  const rules = `http: { rules: [{ selector: ${getVolume} }, { selector: library.v1.CatalogService.ReadFile, post: /files, body: "*" }] }`;
  await writeFile(join(folder.path, "rules.yaml"), rules);
  const { exitCode, stdout } = await check(...described, "--rules", "rules.yaml");
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/GetVolume +unary +gRPC, gRPC-Web and Connect alone\n/);
  expect(stdout).toContain("ReadFile                 unary          POST /files  (body *)");
});

test("a service of gRPC's own packages is served if it is named", async () => {
  const set = descriptorSetOf(file_library_v1_catalog, file_grpc_health_v1_health);
  await writeFile(join(folder.path, "health.binpb"), set);
  const args = [...away, "--descriptors", "health.binpb"];
  expect((await check(...args)).stdout).not.toContain("grpc.health.v1.Health");
  const own = "grpc.health.v1.Health=unix:health.sock";
  const stdout = expect.stringContaining("grpc.health.v1.Health at unix:health.sock\n");
  expect(await check(...args, "--upstream", own)).toMatchObject({ exitCode: 0, stdout });
});

const whole = file_library_v1_fields.proto;
const validate = oddFile({ path: "/v1/odd", dependency: ["buf/validate/validate.proto"] });

test.each<[what: string, files: FileDescriptorProto[], message: string, exitCode: number]>([
  ["an import is missing", [validate], "buf/validate/validate.proto is missing", 0],
  ["no method has a route", [oddFile()], "give --rules FILE", 0],
  ["a file cannot be used", [whole, oddFile({ type: ".a.B" })], "odd.proto cannot be used: ", 1],
  ["a rule cannot be served", [oddFile({ path: "/v1/{text=**}/tail" })], "{text=**}/tail", 1],
  ["there is no service", [], "lists no service to serve", 1],
])("it says what is wrong in a server's reflection: %s", async (_, files, message, exitCode) => {
  await using grpc = await openUpstream((router) => addReflecting(router, () => files));
  const stderr = expect.stringContaining(message);
  expect(await check("--upstream", grpc.url, "--reflection")).toMatchObject({ exitCode, stderr });
});

describe("what is wrong", () => {
  test.each([
    ["a selector that no method has", "Gone, get: /a", "CatalogService.Gone: no method"],
    ["a field that there is not", 'GetVolume, get: "/a/{isbn}"', "has no field isbn"],
    ["a route that is taken", 'GetVolume, get: "/v1/files/{name=**}"', "/v1/files/{path=**}"],
  ])("%s", async (_what, rule, message) => {
    const file = join(folder.path, "wrong.yaml");
    await writeFile(file, `http: { rules: [{ selector: library.v1.CatalogService.${rule} }] }`);
    const stderr = expect.stringContaining(message);
    expect(await check(...described, "--rules", file)).toMatchObject({ exitCode: 1, stderr });
  });

  const all = "--upstream http://127.0.0.1:1";
  const set = `${all} --descriptors services.binpb`;
  const catalog = "library.v1.CatalogService";
  beforeAll(() => writeFile(join(folder.path, "odd.yaml"), "rest-ignore-query-parameters: a*b"));
  const noPassword = "proxy: --upstream: must not contain a user name or password\n";
  test.each<[what: string, args: string, message: string, exitCode?: number]>([
    ["no upstream", "--reflection", "--upstream: is missing"],
    ["no services", all, "--descriptors: is missing: name a file, or use --reflection"],
    ["both kinds of services", `${set} --reflection`, "--descriptors: cannot be used with --refl"],
    ["no URL", "--upstream 127.0.0.1:1 --reflection", "must be http://HOST:PORT"],
    ...["https://a:secret@b", "x.Y=http:/a:secret@b", "http://a:se/cret@b:1"].map(
      (url): [string, string, string] => [url, `--reflection --upstream ${url}`, noPassword],
    ),
    ["two places", `${set} ${all.replace(/1$/, "2")}`, `${catalog} is at http://127.0.0.1:1 and`],
    ["no service", `${set} --upstream a.B=http://a`, `no such service; choose from ${catalog}`],
    ["a flag for no upstream", `${set} --upstream-ca a.B=ca.pem`, "; add --upstream a.B=URL"],
    ["all pages", `${set} --cors-origin * --cors-credentials`, "name the origins"],
    ["CORS without origins", `${set} --cors-exposed-headers a`, "without origins"],
    ["the host of no port", `${set} --admin-host ::1`, "without a port"],
    ["the port of a socket", `${set} --host unix:a.sock --port 1`, "--host is a Unix socket"],
    ["a socket without a name", `${set} --host unix:`, "--host: must name the socket"],
    ["rules that are not there", `${set} --rules none.yaml`, "none.yaml cannot be read"],
    ["no rules for reflection", `${all} --reflection --rules none.yaml`, "none.yaml cannot be"],
    ["services that are not there", `${all} --descriptors none.binpb`, "none.binpb: ENOENT"],
    ["a CA that is not there", `${set.replace("http", "https")} --upstream-ca none`, "none cannot"],
    ["a CA of plaintext", `${set} --upstream-ca none.pem`, "-ca: does nothing: no upstream is"],
    ["a CA of one", `${set} --upstream B=http://b --upstream-ca B=c`, "its upstream is not https"],
    ["headers that are not there", `${set} --reflection-headers a`, "--reflection-headers: ENOENT"],
    ["an address as a name", `${set} --upstream-server-name 127.0.0.1`, "must be a DNS name; an"],
    ["a URL as an authority", `${set} --upstream-authority http://a`, "http://a: must be HOST or"],
    ["no header", `${set} --cors-origin * --cors-exposed-headers a:`, "names of headers: a:\n"],
    ["a * within a name", `${set} --config odd.yaml`, "line 1): a * may only be at the end\n"],
    ["a comma too many", `${set} --cors-origin https://a.b,`, "--cors-origin: has an empty"],
    ["an upstream that is away", `${all} --reflection`, "http://127.0.0.1:1: ", 1],
  ])("%s", async (_what, args, message, exitCode = 2) => {
    const ended = await check(...args.split(" "));
    expect(ended.stderr).toContain(message);
    // A second line at most: what was meant, perhaps.
    expect(ended.stderr).toMatch(/^[^\n]+\n(\(Did you mean [^\n]+\)\n)?$/);
    expect(ended.exitCode).toBe(exitCode);
    const { stderr } = await folder.run("config", "check", ...args.split(" "));
    expect(stderr).toBe(exitCode === 2 ? ended.stderr : "");
  });
});
