/** A message with protovalidate rules, created without a compiler. */
import {
  create,
  createFileRegistry,
  type DescMessage,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  type FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_wrappers,
  MessageOptionsSchema,
  OneofOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import {
  type FieldRulesSchema,
  field as fieldExtension,
  FieldRulesSchema as fieldRules,
  file_buf_validate_validate,
  MessageRulesSchema,
  message as messageExtension,
  OneofRulesSchema,
  oneof as oneofExtension,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

export type Rules = Extract<MessageInitShape<typeof FieldRulesSchema>, { $typeName?: never }>;

type FieldInit = MessageInitShape<typeof FieldDescriptorProtoSchema>;

const { OPTIONAL, REPEATED } = FieldDescriptorProto_Label;
export const Type = FieldDescriptorProto_Type;

/** Forms of a field: its type in the descriptor, and what that needs. */
export const forms = {
  string: { type: Type.STRING },
  bytes: { type: Type.BYTES },
  bool: { type: Type.BOOL },
  int32: { type: Type.INT32 },
  uint32: { type: Type.UINT32 },
  int64: { type: Type.INT64 },
  uint64: { type: Type.UINT64 },
  double: { type: Type.DOUBLE },
  float: { type: Type.FLOAT },
  enum: { type: Type.ENUM, typeName: ".ruled.v1.Mood" },
  strings: { type: Type.STRING, label: REPEATED },
  ints: { type: Type.INT64, label: REPEATED },
  map: { type: Type.MESSAGE, typeName: ".ruled.v1.Ruled.ValueEntry", label: REPEATED },
  wrapper: { type: Type.MESSAGE, typeName: ".google.protobuf.Int64Value" },
  wrappers: { type: Type.MESSAGE, typeName: ".google.protobuf.Int64Value", label: REPEATED },
  /** In a oneof of protovalidate. */
  choice: { type: Type.STRING },
  optional: { type: Type.STRING, oneofIndex: 0, proto3Optional: true },
} as const satisfies Record<string, FieldInit>;

/** A message `ruled.v1.Ruled` with one field, `value`. */
export function messageWith(form: keyof typeof forms, rules: Rules): DescMessage {
  const options = create(FieldOptionsSchema);
  setExtension(options, fieldExtension, create(fieldRules, rules));
  const own = create(MessageOptionsSchema);
  const oneof = form === "choice" ? [{ fields: ["value"] }] : [];
  setExtension(own, messageExtension, create(MessageRulesSchema, { oneof }));
  const named = { name: "value", jsonName: "value", number: 1, label: OPTIONAL };
  const value = { ...named, ...forms[form], options };
  const entry = [
    { name: "key", jsonName: "key", number: 1, type: Type.INT32, label: OPTIONAL },
    { name: "value", jsonName: "value", number: 2, type: Type.STRING, label: OPTIONAL },
  ];
  return build({
    name: "Ruled",
    field: [value],
    options: own,
    ...(form === "optional" && { oneofDecl: [{ name: "_value" }] }),
    ...(form === "map" && {
      nestedType: [{ name: "ValueEntry", field: entry, options: { mapEntry: true } }],
    }),
  });
}

/** A message with two fields, of which exactly one must be set: in a oneof, or by a rule of the message. */
export function messageWithChoice(isVirtual = false): DescMessage {
  const required = true;
  const options = create(OneofOptionsSchema);
  setExtension(options, oneofExtension, create(OneofRulesSchema, { required }));
  const own = create(MessageOptionsSchema);
  const virtual = create(MessageRulesSchema, { oneof: [{ fields: ["a", "b"], required }] });
  if (isVirtual) setExtension(own, messageExtension, virtual);
  const member = { type: Type.STRING, label: OPTIONAL, ...(!isVirtual && { oneofIndex: 0 }) };
  return build({
    name: "Ruled",
    options: own,
    oneofDecl: isVirtual ? [] : [{ name: "choice", options }],
    field: [
      { name: "a", jsonName: "a", number: 1, ...member },
      { name: "b", jsonName: "b", number: 2, ...member },
    ],
  });
}

function build(
  message: NonNullable<MessageInitShape<typeof FileDescriptorProtoSchema>["messageType"]>[0],
) {
  const file = create(FileDescriptorProtoSchema, {
    name: "ruled/v1/ruled.proto",
    package: "ruled.v1",
    syntax: "proto3",
    dependency: ["buf/validate/validate.proto", "google/protobuf/wrappers.proto"],
    messageType: [message],
    enumType: [
      {
        name: "Mood",
        value: [
          { name: "MOOD_UNSPECIFIED", number: 0 },
          { name: "MOOD_GOOD", number: 1 },
          { name: "MOOD_BAD", number: 2 },
        ],
      },
    ],
  });
  const needed = [file_buf_validate_validate, file_google_protobuf_wrappers];
  const registry = createFileRegistry(file, (name) =>
    [...needed, ...needed.flatMap(({ dependencies }) => dependencies)].find(
      ({ proto }) => proto.name === name,
    ),
  );
  const found = registry.getMessage("ruled.v1.Ruled");
  if (found === undefined) throw new Error("no message");
  return found;
}
