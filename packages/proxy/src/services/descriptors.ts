import {
  create,
  createFileRegistry,
  type DescFile,
  type DescService,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type FileDescriptorProto,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { wellKnownFiles } from "./well-known-files.ts";

/** The services of an upstream, and every type that their files and imports declare. */
export interface Descriptors {
  /** Without those of the packages `grpc.*`, such as health and reflection: they are about one server. */
  readonly services: readonly DescService[];
  /** Also for `jsonOptions` of the gateway, which needs it for `google.protobuf.Any` and extensions. */
  readonly registry: FileRegistry;
}

/** Descriptors that cannot be used. Where one proto file is at fault, the message names it. */
export class DescriptorError extends Error {
  override readonly name = "DescriptorError";
}

/**
 * Reads a `google.protobuf.FileDescriptorSet`, as `buf build -o services.binpb` and
 * `protoc --include_imports --descriptor_set_out=services.binpb` write it.
 *
 * @throws {DescriptorError}
 */
export function readDescriptors(bytes: Uint8Array): Descriptors {
  const descriptors = createDescriptors(parseSet(bytes).file);
  if (descriptors.services.length > 0) return descriptors;
  throw new DescriptorError("the descriptor set has no service");
}

function parseSet(bytes: Uint8Array): FileDescriptorSet {
  try {
    const set = fromBinary(FileDescriptorSetSchema, bytes);
    if (set.file.length > 0 && set.file.every(({ name }) => name !== "")) return set;
  } catch {
    // It says at which byte, which is of no use.
  }
  throw new DescriptorError(
    "not a google.protobuf.FileDescriptorSet; write one with buf build -o services.binpb",
  );
}

/**
 * @param files In any order. Imports that are not among them may be well-known files.
 * @throws {DescriptorError}
 */
export function createDescriptors(files: readonly FileDescriptorProto[]): Descriptors {
  for (const { messageType } of files) fillJsonNames(messageType);
  const file = sorted(files);
  const registry = createRegistryOf(file);
  const all = [...registry].filter((type) => type.kind === "service");
  const services = all.filter(({ typeName }) => !typeName.startsWith("grpc."));
  return { services, registry };
}

/**
 * The generated code of Java has descriptors without names for JSON, and so has its reflection. They
 * are what protoc makes them.
 */
function fillJsonNames(messages: readonly DescriptorProto[]): void {
  for (const { field: fields, nestedType } of messages) {
    for (const field of fields) {
      if (field.jsonName !== "") continue;
      field.jsonName = field.name.replaceAll(/_+(.?)/g, (_, next: string) => next.toUpperCase());
    }
    fillJsonNames(nestedType);
  }
}

/** Imports before the files that import them. */
function sorted(files: readonly FileDescriptorProto[]): readonly FileDescriptorProto[] {
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
    const found = given.get(name) ?? wellKnownFiles.get(name);
    if (found !== undefined) return found;
    throw new DescriptorError(`${name} is missing, which ${importer} imports`);
  }

  for (const file of given.values()) place(file);
  return [...placed];
}

function createRegistryOf(file: FileDescriptorProto[] | readonly FileDescriptorProto[]) {
  try {
    return createFileRegistry(create(FileDescriptorSetSchema, { file: [...file] }));
  } catch (cause) {
    throw faultOf(file, cause);
  }
}

/** Which file is at fault, at the cost of one registry for each file. */
function faultOf(files: readonly FileDescriptorProto[], whole: unknown): DescriptorError {
  const known = new Map<string, DescFile | undefined>();
  for (const file of files) {
    try {
      const registry = createFileRegistry(file, (name) => known.get(name));
      known.set(file.name, registry.getFile(file.name));
    } catch (cause) {
      const reason = (cause as Error).message || unnamedFault(file, files);
      return new DescriptorError(`${file.name} cannot be used: ${reason}`, { cause });
    }
  }
  const { message } = whole as Error;
  return new DescriptorError(`the files cannot be used: ${message}`, { cause: whole });
}

/** What protobuf-es has no words for: the type of a repeated field, and an entry of a map. */
function unnamedFault(
  { package: parent, messageType }: FileDescriptorProto,
  files: readonly FileDescriptorProto[],
): string {
  const declared = new Set(
    files.flatMap((file) => [
      ...messagesOf(file.package, file.messageType).flatMap(([name, { enumType }]) => [
        name,
        ...enumType.map((one) => `${name}.${one.name}`),
      ]),
      ...file.enumType.map(({ name }) => `.${file.package}.${name}`),
    ]),
  );
  for (const [name, { field: fields }] of messagesOf(parent, messageType)) {
    const field = fields.find(({ typeName }) => typeName !== "" && !declared.has(typeName));
    if (field === undefined) continue;
    return `${name.slice(1)}.${field.name} has the type ${field.typeName.slice(1)}, which no file declares`;
  }
  return "the entry of a map has other fields than key and value";
}

/** With those inside others, by their full names, which begin with a dot. */
function messagesOf(
  parent: string,
  messages: readonly DescriptorProto[],
): readonly (readonly [name: string, DescriptorProto])[] {
  const scope = parent === "" || parent.startsWith(".") ? parent : `.${parent}`;
  return messages.flatMap((message) => {
    const name = `${scope}.${message.name}`;
    return [[name, message] as const, ...messagesOf(name, message.nestedType)];
  });
}
