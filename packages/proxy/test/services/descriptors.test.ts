/** Descriptor sets, right and wrong. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { file_grpc_health_v1_health } from "../../../gateway/gen/grpc/health/v1/health_pb.ts";
import { file_library_v1_card } from "../../../gateway/test/gen/library/v1/card_pb.ts";
import {
  CatalogService,
  file_library_v1_catalog,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { DescriptorError, readDescriptors } from "../../src/services/index.ts";

const whole = descriptorSetOf(file_library_v1_catalog, file_grpc_health_v1_health);

/** The set, changed. */
function changed(change: (set: FileDescriptorSet) => void): Uint8Array {
  const set = fromBinary(FileDescriptorSetSchema, whole);
  change(set);
  return toBinary(FileDescriptorSetSchema, set);
}

test.each(["grpc/", "google/"])("a set may lack %s, and what Java and Node leave out", (left) => {
  const bytes = changed((set) => {
    const http = set.file.find(({ name }) => name === "google/api/http.proto");
    if (http && left === "grpc/") set.file.push({ ...http, name: "vendored.proto" });
    set.file = set.file.filter(({ name }) => !name.startsWith(left)).reverse();
    for (const one of set.file.filter(({ name }) => !name.startsWith("google/"))) {
      one.dependency = []; // protobuf.js
      one.messageType[0]?.reservedName.push(".google.rpc.Status");
      for (const { name, field: fields, nestedType } of one.messageType) {
        for (const field of [...fields, ...nestedType.flatMap(({ field }) => field)]) {
          field.jsonName = ""; // Java's generated code
          field.typeName = field.typeName.replace(/^[.](?!google)([\w.]+[.])?|^[.]/, "");
        }
        if (name !== "ListVolumesRequest") continue;
        nestedType.push(create(DescriptorProtoSchema, { name: "Inner", field: fields }));
      }
    }
  });
  const { registry, broken, missing } = readDescriptors(bytes);
  const imports = registry.getFile(catalog)?.dependencies.map(({ name }) => name.slice(7));
  expect([...broken, ...missing]).toEqual([]);
  expect(`${imports?.sort()}`).toBe("api/httpbody,protobuf/empty,protobuf/field_mask");
  for (const name of ["ListVolumesRequest", "ListVolumesRequest.Inner"]) {
    const { fields } = registry.getMessage(`library.v1.${name}`) ?? {};
    expect(fields?.map(({ jsonName }) => jsonName)).toEqual(["parent", "pageSize", "titles"]);
  }
});

const catalog = "library/v1/catalog.proto";

test("an import that is missing counts as empty, and is named", () => {
  const bytes = changed(({ file }) => {
    file.find(({ name }) => name === catalog)?.dependency.push("buf/validate/validate.proto");
  });
  const { services, missing, broken } = readDescriptors(bytes);
  expect(services.map(({ typeName }) => typeName)).toContain("library.v1.CatalogService");
  expect(missing).toEqual([`buf/validate/validate.proto is missing, which ${catalog} imports`]);
  expect(broken).toEqual([]);
});

test("a file that cannot be used is left out and named, and the services of others stay", () => {
  const bytes = changed(({ file }) => {
    const all = file.flatMap(({ messageType }) => messageType.flatMap((one) => one.nestedType));
    all.find(({ options }) => options?.mapEntry)?.field.pop();
  });
  const { services, broken } = readDescriptors(bytes);
  expect(services.map(({ typeName }) => typeName)).toContain("library.v1.CatalogService");
  expect(broken).toEqual([
    expect.stringMatching(
      /^grpc.health.v1.health.proto cannot be used: .*the entry of a map is not/,
    ),
  ]);
});

test("one of many files that import each other cannot be used", () => {
  const files = Array.from({ length: 60 }, (_, i) => {
    const dependency = [1, 2, 3].flatMap((back) => (back > i ? [] : `${i - back}.proto`));
    const field = [{ name: "f", number: 1, type: 11, typeName: "Nothing" }];
    const deep = { package: `a${".a".repeat(20_000)}`, messageType: [{ name: "M", field }] };
    const content = i === 30 ? deep : {};
    return create(FileDescriptorProtoSchema, { name: `${i}.proto`, dependency, ...content });
  });
  const { services, broken } = readDescriptors(changed(({ file }) => file.push(...files)));
  expect(broken).toEqual([expect.stringMatching(/^30.proto cannot be used: .*Nothing not found$/)]);
  expect(services.map(({ typeName }) => typeName)).toEqual([CatalogService.typeName]);
});

/** A message. A field whose name has a slash is in the oneof before it. */
function messageOf(name: string, fields: readonly string[]): DescriptorProto {
  const paths = fields.map((field) => field.split("/").reverse());
  const oneofs = [...new Set(paths.flatMap(([, oneof]) => oneof ?? []))];
  return create(DescriptorProtoSchema, {
    name,
    oneofDecl: oneofs.map((oneof) => ({ name: oneof })),
    field: paths.map(([field = "", oneof], i) => ({
      ...{ name: field, number: i + 1, type: FieldDescriptorProto_Type.STRING },
      ...(oneof !== undefined && { oneofIndex: oneofs.indexOf(oneof) }),
    })),
  });
}

/** Reads a set with one more file: of a message M that contains another, and a service. */
function readWith(fields: readonly string[], methods: readonly string[]) {
  const outer = messageOf("M", ["foo_bar"]);
  outer.nestedType.push(messageOf("N", fields));
  const file = create(FileDescriptorProtoSchema, {
    ...{ name: "a.proto", package: "a", syntax: "proto2", messageType: [outer] },
    service: [
      {
        name: "S",
        method: methods.map((name) => ({ name, inputType: ".a.M", outputType: ".a.M.N" })),
      },
    ],
  });
  return readDescriptors(changed((set) => set.file.push(file)));
}

test.each<[what: string, fields: string[], methods: string[], clash: string]>([
  ["a field and a oneof", ["foo_bar/x", "foo_bar/y", "fooBar"], [], "a.M.N.fooBar and foo_bar"],
  ["fields of a oneof", ["one/foo_", "one/foo"], [], "a.M.N.foo and foo_"],
  ["methods", [], ["GetX", "getX"], "a.S.getX and GetX"],
  ["a method and what every object has", [], ["__proto__"], "a.S.__proto__ and that of"],
])("a file whose names become one cannot be used: %s", (_what, fields, methods, clash) => {
  const { services, broken } = readWith(fields, methods);
  expect(services.map(({ typeName }) => typeName)).toEqual([CatalogService.typeName]);
  expect(broken).toEqual([expect.stringContaining(`a.proto cannot be used: ${clash}`)]);
  expect(broken).toEqual([expect.stringMatching(/the same name in JavaScript: \w+$/)]);
});

test("names that stay apart may be alike", () => {
  const { services, broken } = readWith(["foo_bar", "one/x", "two/X"], ["GetX", "Constructor"]);
  expect(broken).toEqual([]);
  expect(services.map(({ typeName }) => typeName)).toContain("a.S");
});

test("a set has its services, but for those about a server, and all types", () => {
  const declare = (parent: string, name: string) =>
    create(FileDescriptorProtoSchema, { name, package: parent, service: [{ name }] });
  const others = [declare("grpc.examples.echo", "Echo"), declare("grpc.channelz.v1", "Channelz")];
  const { services, registry } = readDescriptors(changed(({ file }) => file.push(...others)));
  const names = services.map(({ typeName }) => typeName).sort();
  expect(names).toEqual(["grpc.examples.echo.Echo", CatalogService.typeName]);
  const { file } = fromBinary(FileDescriptorSetSchema, whole);
  expect(registry.getFile(catalog)?.proto).toStrictEqual(file.find(({ name }) => name === catalog));
});

const noSet = "not a google.protobuf.FileDescriptorSet; write one with buf build -o services.binpb";
const catalogIn = ({ file }: FileDescriptorSet) => file.find(({ name }) => name === catalog);
const nothing = ".library.v1.Nothing";
const cyclic = changed((set) => void catalogIn(set)?.dependency.push(catalog));
const unknownInput = changed((set) => {
  Object.assign(catalogIn(set)?.service[0]?.method[0] ?? {}, { inputType: nothing });
});
const unknownField = changed((set) => {
  const all = catalogIn(set)?.messageType.flatMap(({ field }) => field);
  Object.assign(all?.find(({ name }) => name === "volumes") ?? {}, { typeName: nothing });
});

test.each<[what: string, bytes: Uint8Array, message: string]>([
  ["no descriptor set", Buffer.from("{}"), noSet],
  ["nothing", new Uint8Array(), noSet],
  ["no service", descriptorSetOf(file_library_v1_card), "the descriptor set has no service"],
  ["files that import each other", cyclic, `${catalog} imports ${catalog}`],
  ["an input that no file declares", unknownInput, `input_type ${nothing} not found`],
  ["a repeated field that no file declares", unknownField, `${catalog} cannot be used: a repeated`],
])("%s is an error that says so", (_what, bytes, message) => {
  expect(() => readDescriptors(bytes)).toThrow(DescriptorError);
  expect(() => readDescriptors(bytes)).toThrow(message);
});
