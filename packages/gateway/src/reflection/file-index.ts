import { type AnyDesc, type DescExtension, type DescFile, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** A proto file, as reflection hands it out. */
export interface IndexedFile {
  readonly name: string;
  /** A serialized `google.protobuf.FileDescriptorProto`. */
  readonly bytes: Uint8Array;
  readonly imports: readonly IndexedFile[];
}

/** Files, and those that they import, to be found by what is in them. */
export interface FileIndex {
  readonly byName: ReadonlyMap<string, IndexedFile>;
  /** By the full name of any declaration: message, field, enum value, method, … */
  readonly bySymbol: ReadonlyMap<string, IndexedFile>;
  /** By the full name of the message that is extended, and the number of the extension. */
  readonly byExtension: ReadonlyMap<string, ReadonlyMap<number, IndexedFile>>;
  readonly messages: ReadonlySet<string>;
}

/**
 * Everything is made once, so that a look-up costs no more than its answer.
 *
 * @param files Where two have one name or declare the same, the first counts.
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

/** A declaration and what is declared in it, but for types, which come by themselves. */
function symbolsOf(desc: AnyDesc): string[] {
  switch (desc.kind) {
    case "message": {
      const names = [...desc.fields, ...desc.oneofs].map(({ name }) => `${desc.typeName}.${name}`);
      return [desc.typeName, ...names];
    }
    case "enum": {
      // The values of an enum stand beside it: https://protobuf.dev/programming-guides/proto3/#enum
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
