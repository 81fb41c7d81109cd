import {
  create,
  createFileRegistry,
  type DescEnum,
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescOneof,
  type DescService,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import * as wellKnownTypes from "@bufbuild/protobuf/wkt";
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import * as protos from "connect-gateway/protos";

/** The services of an upstream, and every type that their files and imports declare. */
export interface Descriptors {
  /** Without health, reflection and channelz, which are about one server. */
  readonly services: readonly DescService[];
  /** Also for `jsonOptions` of the gateway, which needs it for `google.protobuf.Any` and extensions. */
  readonly registry: FileRegistry;
  /** Missing imports, one sentence each. Their files count as empty: often they are imported for options alone. */
  readonly missing: readonly string[];
  /** Why files cannot be used, one sentence each. Their services are left out. */
  readonly broken: readonly string[];
}

/** Whether a service is about the server that has it, and not for the callers of another. */
export const isOfServer = (typeName: string): boolean => ofServer.test(typeName);
const ofServer =
  /^grpc\.(?:channelz\.v1\.Channelz|health\.v1\.Health|reflection\.v1(?:alpha)?\.ServerReflection)$/;

/** Descriptors that cannot be used. If one proto file is invalid, the message names it. */
export class DescriptorError extends Error {
  override readonly name = "DescriptorError";
}

/** Reads what `buf build -o FILE` writes. @throws {DescriptorError} if no service can be used. */
export function readDescriptors(bytes: Uint8Array): Descriptors {
  const descriptors = createDescriptors(parseSet(bytes).file);
  assertServices(descriptors, "the descriptor set has no service");
  return descriptors;
}

/** @throws {DescriptorError} with the reason why there is no service. */
export function assertServices(found: Descriptors, otherwise: string): void {
  if (found.services.length > 0) return;
  throw new DescriptorError([...found.missing, ...found.broken].join("; ") || otherwise);
}

function parseSet(bytes: Uint8Array): FileDescriptorSet {
  try {
    const set = fromBinary(FileDescriptorSetSchema, bytes);
    if (set.file.length > 0 && set.file.every(({ name }) => name !== "")) return set;
  } catch {
    // Its message contains only a byte offset.
  }
  throw new DescriptorError(
    "not a google.protobuf.FileDescriptorSet; write one with buf build -o services.binpb",
  );
}

/** @param files In any order, without well-known ones. @throws {DescriptorError} for a cycle of imports. */
export function createDescriptors(files: readonly FileDescriptorProto[]): Descriptors {
  complete(files);
  const missing: string[] = [];
  const broken: string[] = [];
  const registry = createRegistryOf(sorted(files, missing), broken);
  for (const type of registry) {
    // protobuf-es replaces what is not UTF-8 in proto2. No codec of ours reads an Any or an extension.
    const fields = type.kind === "message" ? type.fields : type.kind === "extension" ? [type] : [];
    for (const field of fields) Object.assign(field, { utf8Validation: true });
  }
  const all = [...registry].filter((type) => type.kind === "service");
  const services = all.filter(({ typeName }) => !isOfServer(typeName));
  return { services, registry, missing, broken };
}

/** Adds what protoc writes. Java leaves out names for JSON, protobuf.js (Node) scopes and imports. */
function complete(files: readonly FileDescriptorProto[]): void {
  const all = [...wellKnownFiles.values(), ...files].map((file) => {
    const { package: name, messageType: nestedType } = file;
    return { file, types: typesIn({ ...file, nestedType }, name && `.${name}`) };
  });
  const places = new Map<string, string>();
  for (const { file, types } of all) for (const [type] of types) places.set(type, file.name);
  const find = (type: string, scope: string): string => {
    const name = `${scope}.${type}`;
    if (type.startsWith(".") || scope.length > 256) return type;
    if (scope === "" || places.has(name)) return name;
    return find(type, scope.slice(0, scope.lastIndexOf(".")));
  };
  for (const { file, types } of all) {
    for (const [scope, { field: fields = [] }] of types)
      for (const field of fields) {
        field.jsonName ||= field.name.replaceAll(/_+(.?)/g, (_, next) => next.toUpperCase());
        field.typeName &&= find(field.typeName, scope); // a scalar has none, not an empty one
      }
    if (file.dependency.length > 0) continue;
    const own = new Map(types);
    const ofFields = types.map(([, { field }]) => field?.map(({ typeName }) => typeName));
    const used = textsIn([ofFields, file.service]).map((one) => !own.has(one) && places.get(one));
    for (const one of new Set(used)) if (one && one !== file.name) file.dependency.push(one);
  }
}

type Types = Partial<Pick<DescriptorProto, "name" | "field" | "nestedType" | "enumType">>;

/** Messages and enums, with their full names. */
function typesIn({ nestedType = [], enumType = [] }: Types, parent: string): [string, Types][] {
  return [...nestedType, ...enumType].flatMap((one) => {
    const name = `${parent}.${one.name}`;
    return [[name, one], ...typesIn(one, name)];
  });
}

/** Imports before the files that import them. @param missing Gets those that are not there. */
function sorted(
  files: readonly FileDescriptorProto[],
  missing: string[],
): readonly FileDescriptorProto[] {
  const given = new Map(files.map((file) => [file.name, file]));
  const placed = new Set<FileDescriptorProto>();
  const importing: string[] = [];

  function place(file: FileDescriptorProto): void {
    if (placed.has(file)) return;
    if (importing.includes(file.name)) {
      throw new DescriptorError(`${[...importing, file.name].join(" imports ")}`);
    }
    importing.push(file.name);
    for (const name of file.dependency) place(find(name, file.name));
    importing.pop();
    placed.add(file);
  }

  function find(name: string, importer: string): FileDescriptorProto {
    let found = given.get(name) ?? wellKnownFiles.get(name);
    if (found !== undefined) return found;
    missing.push(`${name} is missing, which ${importer} imports`);
    found = emptyFile(name);
    given.set(name, found);
    return found;
  }

  for (const file of given.values()) place(file);
  return [...placed];
}

function emptyFile(name: string): FileDescriptorProto {
  return create(FileDescriptorProtoSchema, { name });
}

/** @param broken Gets why files cannot be used. */
function createRegistryOf(files: readonly FileDescriptorProto[], broken: string[]): FileRegistry {
  try {
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...files] }));
    const clashes = new Map([...registry].flatMap((type) => clashesOf(type)));
    if (clashes.size === 0) return registry;
    for (const [name, clash] of clashes) broken.push(`${name} cannot be used: ${clash}`);
    const usable = files.map((file) => (clashes.has(file.name) ? emptyFile(file.name) : file));
    return createRegistryOf(usable, broken);
  } catch (cause) {
    const before = broken.length;
    const usable = withoutBroken(files, broken);
    if (broken.length === before) throw cause;
    return createRegistryOf(usable, broken);
  }
}

/** Tries each file with the types that it uses alone: imports are read once for each way to them. */
function withoutBroken(files: readonly FileDescriptorProto[], broken: string[]) {
  const known = new Map<string, DescType>();
  return files.map((file) => {
    const names = textsIn([file.messageType, file.extension, file.service]);
    const enums = names.flatMap((name) => known.get(name.slice(1)) ?? []); // and messages
    const nothing = { dependencies: [], messages: [], services: [], extensions: [] };
    const imported = { kind: "file", proto: emptyFile("imported"), ...nothing, enums };
    try {
      const alone = Object.assign(emptyFile(""), file, { dependency: ["imported"] });
      const types = createFileRegistry(alone, () => imported as unknown as DescFile);
      for (const type of types) known.set(type.typeName, type);
      return file;
    } catch (cause) {
      broken.push(`${file.name} cannot be used: ${(cause as Error).message || unnamedFault}`);
      return emptyFile(file.name);
    }
  });
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  return Object.values(value).flatMap(textsIn);
}

type DescType = DescMessage | DescEnum | DescExtension | DescService;

/** Names that are the same in camelCase: a value would be sent as that of another field. By file. */
function clashesOf(type: DescType): readonly (readonly [file: string, clash: string])[] {
  /** Groups whose names must differ. */
  const groups: readonly (readonly (DescField | DescOneof | DescMethod)[])[] =
    type.kind === "service"
      ? [type.methods]
      : type.kind === "message"
        ? [type.members, ...type.oneofs.map(({ fields }) => fields)]
        : [];
  return groups.flatMap((all) => {
    const known = new Map([["__proto__", "that of every object"]]);
    return all.flatMap(({ name, localName, parent }) => {
      const other = known.get(localName);
      known.set(localName, name);
      if (other === undefined) return [];
      const text = `${parent.typeName}.${name} and ${other} have the same name in JavaScript`;
      return [[type.file.proto.name, `${text}: ${localName}`] as const];
    });
  });
}

/** protobuf-es says nothing of these. What is not declared is most often in a file that is missing. */
const unnamedFault =
  "a repeated field has a type that no file declares, or the entry of a map is not a key and a value";

/** Descriptor sets without imports lack them, and so do servers whose language has no code for them. */
export const wellKnownFiles: ReadonlyMap<string, wellKnownTypes.FileDescriptorProto> = new Map(
  Object.values({ ...wellKnownTypes, ...protos })
    .filter((one) => "kind" in one && one.kind === "file")
    .map(({ proto }) => [proto.name, proto]),
);
