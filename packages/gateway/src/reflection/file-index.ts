import { type AnyDesc, type DescExtension, type DescFile, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** A proto file, as returned by reflection. */
export interface IndexedFile {
  readonly name: string;
  /** A serialized `google.protobuf.FileDescriptorProto`. */
  readonly bytes: Uint8Array;
  readonly imports: readonly IndexedFile[];
}

/** Files and their imports, indexed by their contents. */
export interface FileIndex {
  readonly byName: ReadonlyMap<string, IndexedFile>;
  /** By the full name of any declaration: message, field, enum value, method, … */
  readonly bySymbol: ReadonlyMap<string, IndexedFile>;
  /** By the full name of the extended message and the extension's number. */
  readonly byExtension: ReadonlyMap<string, ReadonlyMap<number, IndexedFile>>;
  readonly messages: ReadonlySet<string>;
}

/**
 * Everything is created once, so that a lookup costs no more than its answer.
 *
 * @param files If two have the same name or declare the same symbol, the first one counts.
 */
export function createFileIndex(files: readonly DescFile[]): FileIndex {
  const byName = new Map<string, IndexedFile>();
  const bySymbol = new Map<string, IndexedFile>();
  const byExtension = new Map<string, Map<number, IndexedFile>>();
  const messages = new Set<string>();

  function addFile(desc: DescFile): IndexedFile {
    const { name } = desc.proto;
    const known = byName.get(name);
    if (known !== undefined) return known;
    const bytes = toBinary(FileDescriptorProtoSchema, desc.proto);
    const file = { name, bytes, imports: desc.dependencies.map(addFile) };
    byName.set(name, file);
    for (const type of nestedTypes(desc)) {
      for (const symbol of symbolsOf(type)) {
        if (!bySymbol.has(symbol)) bySymbol.set(symbol, file);
      }
      if (type.kind === "message") messages.add(type.typeName);
      if (type.kind === "extension") addExtension(type, file);
    }
    return file;
  }

  function addExtension({ extendee, number }: DescExtension, file: IndexedFile): void {
    const numbers = byExtension.get(extendee.typeName) ?? new Map<number, IndexedFile>();
    byExtension.set(extendee.typeName, numbers.set(number, file));
  }

  for (const file of files) addFile(file);
  return { byName, bySymbol, byExtension, messages };
}

/**
 * A declaration and everything declared in it, except nested types, which are visited separately.
 */
function symbolsOf(desc: AnyDesc): string[] {
  switch (desc.kind) {
    case "message": {
      const names = [...desc.fields, ...desc.oneofs].map(({ name }) => `${desc.typeName}.${name}`);
      return [desc.typeName, ...names];
    }
    case "enum": {
      // The values of an enum are siblings of the enum:
      // https://protobuf.dev/programming-guides/proto3/#enum
      const scope = desc.typeName.slice(0, -desc.name.length);
      return [desc.typeName, ...desc.values.map(({ name }) => scope + name)];
    }
    case "service":
      return [desc.typeName, ...desc.methods.map(({ name }) => `${desc.typeName}.${name}`)];
    case "extension":
      return [desc.typeName];
    default:
      return [];
  }
}
