/** The command in front of upstreams whose services are odd, or change. */
import { writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { FieldOptionsSchema, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { openGrpcTransport } from "connect-gateway/client";
import { Health } from "connect-gateway/health";
import { addReflection, ServerReflection } from "connect-gateway/reflection";
import { expect, test } from "vitest";
import { createCatalog } from "../../../gateway/test/catalog-server.ts";
import { answerWith, openFakeServer } from "../../../gateway/test/client/fake-server.ts";
import {
  CatalogService,
  file_library_v1_catalog,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import {
  FieldService,
  file_library_v1_fields,
} from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { collect } from "../../../gateway/test/support/collect.ts";
import { listen } from "../../../gateway/test/support/free-port.ts";
import { openUpstream } from "../services/open-proxy.ts";
import { post, startCommand, until, useFolder } from "./command.ts";
import { addReflecting, oddFile, reflecting } from "./reflecting.ts";

const folder = useFolder(file_library_v1_fields);
const { start } = folder;

const fields = file_library_v1_fields.proto;
const echo = (router: ConnectRouter) =>
  router.service(FieldService, { echo: (request) => request });

test("a rule, a type, options and an import that are wrong, and messages that hold each other, leave all else served", async () => {
  const numbers = Array.from({ length: 40 }, (_, i) => i + 1);
  const field = numbers.map((number) => {
    return { name: `m${number}`, number, type: 11, label: 1, typeName: `.many.v1.M${number}` };
  });
  const messageType = numbers.map((i) => ({ name: `M${i}`, field }));
  const odd = [
    oddFile({ name: "rule", path: "/v1/{text=**}/tail" }),
    oddFile({ name: "type", type: ".a.B" }),
    oddFile({ name: "import", path: "/v1/odd", dependency: ["a/b.proto"] }),
    oddFile({ name: "many", path: "/v1/many", type: ".many.v1.M1", messageType }),
    oddFile({ name: "behavior", path: "/v1/behavior" }),
    oddFile({ name: "option" }),
  ];
  const data = Uint8Array.of(1, 255);
  const unreadable = (no: number) => ({ $unknown: [{ no, wireType: 2, data }] });
  const options = Object.assign(create(FieldOptionsSchema), unreadable(1052));
  Object.assign(odd.at(-2)?.messageType[0]?.field[0] ?? {}, { options });
  Object.assign(odd.at(-1)?.service[0]?.method[0]?.options ?? {}, unreadable(72295728));
  await using upstream = await openUpstream((router) =>
    addReflecting(echo(router), () => [...odd, fields]),
  );
  const args = ["--upstream", upstream.url, "--reflection", "--admin-port", "0"];
  const variables = { CONNECT_GATEWAY_MCP_SCHEMAS: "plain" };
  await using server = await startCommand([...args, "--openapi", "--mcp"], folder.path, variables);
  await server.ready();
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const tools = await post(`${server.origin}/mcp`, list);
  expect(await tools.text()).toContain('"name":"field_service_echo"');
  expect(await (await post(`${server.origin}/v1/fields`, '{"string": "a"}')).json()).toEqual({
    string: "a",
  });
  const document = await (await fetch(`${server.origin}/openapi.json`)).json();
  expect(Object.keys(document.paths)).toEqual(["/v1/odd", "/v1/many", "/v1/fields"]);
  await server.nextLine(); // says where MCP is
  expect(await server.readMetrics()).toContain("connect_gateway_rules_left_out 3\n");
});

test("what is no message is passed on to who reads it, with traces", async () => {
  await using upstream = await openFakeServer(async (stream, headers) => {
    const body = Buffer.concat(await stream.toArray());
    answerWith({ "grpc-status": "0" }, { body })(stream, headers);
  });
  const args = ["--upstream", upstream.url, "--descriptors", "services.binpb"];
  await using server = await startCommand(args, folder.path, { OTEL_TRACES_EXPORTER: "console" });
  const path = `${server.origin}/${FieldService.typeName}/Echo`;
  const body = Buffer.from([0xff]);
  const headers = { "content-type": "application/proto" };
  const answer = await fetch(path, { method: "POST", headers, body });
  expect([answer.status, await answer.bytes()]).toEqual([200, new Uint8Array(body)]);
});

test("one upstream that is away does not keep the others from being served", async () => {
  await using upstream = await openUpstream((router) => {
    echo(router);
    addReflection(router);
  });
  const other = `${CatalogService.typeName}=http://127.0.0.1:1`;
  const rule = `{ selector: ${CatalogService.typeName}.MoveVolume, get: /a }`;
  await writeFile(join(folder.path, "rules.yaml"), `http: { rules: [${rule}] }`);
  await using server = await start(
    ...["--upstream", upstream.url, "--upstream", other, "--reflection"],
    ...["--rules", "rules.yaml", "--admin-port", "0", "--mcp", CatalogService.typeName],
  );
  const called = async () => (await post(`${server.origin}/v1/fields`, "{}")).status;
  await expect.poll(called).toBe(200);
  await server.nextLine(); // says where MCP is
  const metrics = await server.readMetrics();
  expect(metrics).toContain("connect_gateway_rules_left_out 0\n"); // it may be known later
  expect((await fetch(`${server.origin}/v1/volumes/1`)).status).toBe(503);
  await server.ready();
});

test("the services of two servers are served together, if each has one server", async () => {
  await using first = await openUpstream((router) => addReflection(echo(router)));
  await using second = await openUpstream((router) => {
    addReflection(echo(router).service(CatalogService, createCatalog()));
  });
  const both = ["--upstream", first.url, "--upstream", second.url, "--reflection"];
  const checked = await folder.run("--check", ...both);
  expect(checked.stderr).toContain(`is at ${first.url} and at ${second.url}`);
  expect(checked.exitCode).toBe(2);
  await using server = await start(...both, "--upstream", `${FieldService.typeName}=${first.url}`);
  const called = async () => [
    (await post(`${server.origin}/v1/fields`, "{}")).status,
    (await post(`${server.origin}/v1/shelves/a/volumes`, '{"id": 1}')).status,
  ];
  await expect.poll(called).toEqual([200, 200]);
});

test("servers may swap their services, and one that takes another's keeps nobody from a change", async () => {
  const odd = (name: string) => oddFile({ name, path: `/v1/${name}` });
  const told = [[fields], [odd("a")], [odd("b")]];
  await using places = new AsyncDisposableStack();
  const args = ["--reflection", "--reflection-interval", "20"];
  for (const i of told.keys()) {
    const upstream = await openUpstream((router) => {
      addReflecting(router, () => told[i] ?? []).service(FieldService, {
        echo: () => ({ int32: i }),
      });
    });
    args.push("--upstream", places.use(upstream).url);
  }
  await using server = await start(...args);
  await Promise.all(["a", "b"].map((name) => until(501, `${server.origin}/v1/${name}`)));
  told[2] = [odd("b"), fields];
  await expect.poll(server.errors).toContain(`${FieldService.typeName} is at`);
  told[1] = [odd("a"), odd("c")];
  await until(501, `${server.origin}/v1/c`);
  told[0] = [odd("a"), odd("c")];
  told[1] = [fields];
  told[2] = [odd("b")];
  const called = async () => await (await post(`${server.origin}/v1/fields`, "{}")).json();
  await expect.poll(called).toEqual({ int32: 1 });
});

test("services that change are read again at an interval", async () => {
  let files = [fields];
  await using upstream = await openUpstream((router) => {
    addReflecting(echo(router).service(CatalogService, createCatalog()), () => files);
  });
  await using server = await start(
    ...["--upstream", upstream.url, "--reflection", "--reflection-interval", "20"],
  );
  await until(404, `${server.origin}/v1/volumes/1`);
  files = [fields, file_library_v1_catalog.proto];
  await until(200, `${server.origin}/v1/shelves/a/volumes`);
});

test("headers of files are sent with calls, with reflection, and read again on SIGHUP, as the services are", async () => {
  let files = [fields];
  const told = reflecting(() => files);
  await using upstream = await openUpstream((router) => {
    router.service(FieldService, {
      echo: (_request, { requestHeader }) => ({ string: requestHeader.get("x-api-key") ?? "" }),
    });
    router.service(ServerReflection, {
      async *serverReflectionInfo(requests, context) {
        const token = context.requestHeader.get("authorization");
        if (token !== "Bearer own") throw new ConnectError("no token", Code.Unauthenticated);
        yield* told.serverReflectionInfo(requests, context) as AsyncIterable<object>;
      },
    });
  });
  const keys = join(folder.path, "keys.txt");
  await writeFile(keys, "X-Api-Key: first key \n");
  await writeFile(join(folder.path, "own.txt"), "authorization: Bearer own\n");
  const args = ["--upstream", upstream.url, "--reflection", "--request-metadata", "x-api-key"];
  args.push("--reflection-headers", "own.txt", "--upstream-headers", "keys.txt");
  expect((await folder.run("--check", ...args)).exitCode).toBe(0);
  await using server = await start(...args);
  await server.ready();
  const sent = async () => {
    const answer = await post(`${server.origin}/v1/fields`, "{}", { "x-api-key": "of the caller" });
    return ((await answer.json()) as { string: string }).string;
  };
  expect(await sent()).toBe("first key");
  await writeFile(keys, "x-api-key: second key");
  files = [fields, file_library_v1_catalog.proto];
  server.hangUp();
  await until(501, `${server.origin}/v1/volumes/1`);
  await expect.poll(sent).toBe("second key");
  await writeFile(keys, "\nx-api-key: a third \u00fc key");
  server.hangUp();
  await expect.poll(server.errors).toContain("keys.txt, line 2: x-api-key has a value that");
  await writeFile(keys, "x-api-key: second key\nX-Api-Key: a third key");
  server.hangUp();
  await expect.poll(server.errors).toContain("keys.txt, line 2: x-api-key is given twice");
  expect(await sent()).toBe("second key");
  expect(server.errors()).not.toContain("third");
});

test.each([
  ["gRPC", "", ["--reflection"]],
  ["REST", "rest+", ["--descriptors", "services.binpb"]],
])("rules of %s are read again on SIGHUP, all or nothing", async (kind, prefix, args) => {
  await using grpc = await openUpstream((router) => addReflection(echo(router)));
  await using rest = await listen(
    createHttpServer(({ url }, response) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify({ string: url })),
    ),
  );
  const write = (rule: string) => writeFile(join(folder.path, "changing.yaml"), rule);
  const unknown = kind === "gRPC" ? ", { selector: a.v1.B.C, get: /c }" : "";
  const rule = (path: string) =>
    write(`http: { rules: [{ selector: ${FieldService.typeName}.Echo, get: ${path} }${unknown}] }`);
  await rule("/one");
  const upstream = ["--upstream", `${prefix}${(kind === "gRPC" ? grpc : rest).url}`];
  await using server = await start(...upstream, ...args, "--rules", "changing.yaml");
  const answer = async (path: string) => await (await until(200, `${server.origin}${path}`)).json();
  await answer("/one");
  await rule("/two");
  server.hangUp();
  expect(await answer("/two")).toEqual(kind === "REST" ? { string: "/two" } : {});
  expect((await fetch(`${server.origin}/one`)).status).toBe(404);
  await write("http: { rules: {} }");
  server.hangUp();
  await expect.poll(server.errors).toContain("the old services and rules stay in use");
  await answer("/two");
  // Nor is it told again, as it was told at the start.
  expect(server.errors().match(/a\.v1\.B\.C/g)?.length).toBe(unknown ? 1 : undefined);
});

test("the type of an Any that only the upstream knows is asked for, and others are logged once, up to a limit", async () => {
  const cart = create(FileDescriptorProtoSchema, {
    name: "cart.proto",
    package: "shop.v1",
    syntax: "proto3",
    messageType: [{ name: "Cart" }],
  });
  const typeUrl = (name: string) => `type.googleapis.com/shop.v1.${name}`;
  await using upstream = await openUpstream((router) => {
    router.service(FieldService, {
      echo: ({ string }) => ({ any: { typeUrl: typeUrl(string), value: new Uint8Array() } }),
    });
    addReflecting(router, () => [fields, cart]);
  });
  await using server = await start("--upstream", upstream.url, "--reflection");
  await server.ready();
  const ask = async (string: string) =>
    await (await post(`${server.origin}/v1/fields`, JSON.stringify({ string }))).json();
  expect(await ask("Cart")).toMatchObject({ message: expect.stringContaining("shop.v1.Cart") });
  await expect.poll(() => ask("Cart")).toEqual({ any: { "@type": typeUrl("Cart") } });
  const lines = () => server.errors().match(/shop\.v1\.\w+ has no JSON/g) ?? [];
  for (let times = 0; times < 3; times++) await ask("T1");
  await Promise.all(Array.from({ length: 110 }, (_, index) => ask(`T${index}`)));
  await expect.poll(() => lines().length).toBe(100);
  expect(new Set(lines()).size).toBe(100);
});

test.each([
  [Code.Unauthenticated, ["--reflection"]],
  [Code.PermissionDenied, ["--descriptors", "services.binpb"]],
])(
  "an upstream that answers code %i to the health check is ready; both are served and listed, with %s",
  async (code, args) => {
    await using upstream = await openUpstream((router) => {
      echo(router).service(Health, {
        check() {
          throw new ConnectError("no token", code);
        },
      });
      addReflection(router);
    });
    await using server = await start("--upstream", upstream.url, ...args);
    await server.ready();
    const transport = openGrpcTransport({ url: server.origin });
    const asked = { messageRequest: { case: "listServices" as const, value: "" } };
    const { serverReflectionInfo } = createClient(ServerReflection, transport);
    const [listed] = await collect(serverReflectionInfo(createAsyncIterable([asked])));
    const service = expect.arrayContaining(
      [Health, FieldService].map(({ typeName }) => expect.objectContaining({ name: typeName })),
    );
    expect(listed?.messageResponse.value).toMatchObject({ service });
    const ofService = { service: FieldService.typeName };
    const { status } = await createClient(Health, transport).check(ofService);
    expect(status).toBe(1);
    transport.close();
  },
);
