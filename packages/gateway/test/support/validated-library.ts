/**
 * LibraryService with protovalidate rules, without a compiler: npm has no source of their proto.
 */
import {
  clone,
  create,
  createFileRegistry,
  type DescFile,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf";
import {
  FieldOptionsSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  MessageOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import {
  type FieldRules,
  FieldRulesSchema,
  field,
  file_buf_validate_validate,
  type MessageRules,
  MessageRulesSchema,
  message,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_library_v1_library, type LibraryService } from "../gen/library/v1/library_pb.ts";

const fieldRules: Readonly<Record<string, MessageInitShape<typeof FieldRulesSchema>>> = {
  "Library.display_name": { type: { case: "string", value: { maxLen: 8n } } },
  "Library.shelves_by_room": {
    type: { case: "map", value: { keys: { type: { case: "int64", value: greaterThan(0n) } } } },
  },
  "Shelf.theme": { type: { case: "string", value: { minLen: 2n } } },
  "Book.id": { type: { case: "int64", value: greaterThan(0n) } },
};

const messageRules: Readonly<Record<string, MessageInitShape<typeof MessageRulesSchema>>> = {
  Library: {
    cel: [
      {
        id: "library.named",
        message: "a library with shelves has a name",
        expression: "size(this.shelves) == 0 || this.display_name != ''",
      },
    ],
  },
};

function greaterThan(value: bigint) {
  return { greaterThan: { case: "gt", value } } as const;
}

/** The service. Its generated types also apply to it. */
export const validatedLibrary = createService();

function createService(): typeof LibraryService {
  const { proto, dependencies } = file_library_v1_library;
  const known = [...dependencies, file_buf_validate_validate];
  const files = new Map<string, DescFile>(known.map((file) => [`${file.name}.proto`, file]));
  const file = clone(FileDescriptorProtoSchema, proto);
  file.dependency.push(file_buf_validate_validate.proto.name);
  addRules(file);
  const registry = createFileRegistry(file, (name) => files.get(name));
  return registry.getService("library.v1.LibraryService") as typeof LibraryService;
}

function addRules({ messageType }: FileDescriptorProto): void {
  for (const type of messageType) {
    const rules = messageRules[type.name];
    if (rules !== undefined) {
      type.options ??= create(MessageOptionsSchema);
      setExtension(type.options, message, create(MessageRulesSchema, rules) as MessageRules);
    }
    for (const one of type.field) {
      const rules = fieldRules[`${type.name}.${one.name}`];
      if (rules === undefined) continue;
      one.options ??= create(FieldOptionsSchema);
      setExtension(one.options, field, create(FieldRulesSchema, rules) as FieldRules);
    }
  }
}
