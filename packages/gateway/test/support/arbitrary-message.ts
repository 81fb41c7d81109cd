/** Any message of a type, created by reflection: random values for every kind of field. */
import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJson,
  type JsonValue,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import {
  AnySchema,
  anyPack,
  DurationSchema,
  FieldMaskSchema,
  ListValueSchema,
  StructSchema,
  TimestampSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { anyCharacter } from "./any-character.ts";

export interface MessageOptions {
  /** The nesting depth. Default: 2. */
  readonly depth?: number;
  /** The types that an Any may contain. Default: none, it stays empty. */
  readonly inAny?: readonly DescMessage[];
}

/**
 * Any message of the type that ProtoJSON distinguishes from every other: no negative zero whose
 * JSON is `0`, no field mask without JSON.
 */
export function anyMessage<D extends DescMessage>(
  desc: D,
  { depth = 2, inAny = [] }: MessageOptions = {},
): fc.Arbitrary<MessageShape<D>> {
  return messageOf(desc, { depth, inAny }) as fc.Arbitrary<MessageShape<D>>;
}

/** Sets one field of a message. */
type Setter = (message: Message) => void;

function messageOf(desc: DescMessage, options: Required<MessageOptions>): fc.Arbitrary<Message> {
  const special = wellKnown(desc, options);
  if (special !== undefined) return special;
  const setters = desc.members.flatMap((member) => {
    const setter =
      member.kind === "oneof" ? oneofSetter(member, options) : setterOf(member, options);
    return setter === undefined ? [] : [sometimes(setter)];
  });
  return fc.tuple(...setters).map((chosen) => {
    const message = create(desc);
    for (const set of chosen) set?.(message);
    return message;
  });
}

/** Few fields at a time: failures stay small, and the next message has others. */
function sometimes(setter: fc.Arbitrary<Setter>): fc.Arbitrary<Setter | undefined> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: setter },
  );
}

function oneofSetter(
  oneof: DescOneof,
  options: Required<MessageOptions>,
): fc.Arbitrary<Setter> | undefined {
  return fc.oneof(...oneof.fields.flatMap((field) => setterOf(field, options) ?? []));
}

/** Undefined if it would nest deeper than the options allow. */
function setterOf(
  field: DescField,
  options: Required<MessageOptions>,
): fc.Arbitrary<Setter> | undefined {
  const values = anyValue(field, options);
  if (values === undefined) return undefined;
  switch (field.fieldKind) {
    case "list":
      return fc.array(values, { maxLength: 3 }).map((items) => (message) => {
        const list = reflect(field.parent, message).get(field);
        for (const item of items) list.add(reflected(field, item));
      });
    case "map": {
      const entries = fc.array(fc.tuple(scalarOf(field.mapKey), values), { maxLength: 3 });
      return entries.map((pairs) => (message) => {
        const map = reflect(field.parent, message).get(field);
        for (const [key, value] of pairs) map.set(key as never, reflected(field, value));
      });
    }
    default:
      return values.map((value) => (message) => {
        reflect(field.parent, message).set(field, reflected(field, value) as never);
      });
  }
}

function reflected(field: DescField, value: unknown): unknown {
  return field.message === undefined ? value : reflect(field.message, value as Message);
}

function anyValue(
  field: DescField,
  options: Required<MessageOptions>,
): fc.Arbitrary<unknown> | undefined {
  if (field.scalar !== undefined) return scalarOf(field.scalar);
  if (field.enum !== undefined) {
    const known = fc.constantFrom(...field.enum.values.map(({ number }) => number));
    return field.enum.typeName === "google.protobuf.NullValue" ? known : fc.oneof(known, signed32);
  }
  if (field.message === undefined || options.depth === 0) return undefined;
  return messageOf(field.message, { ...options, depth: options.depth - 1 });
}

const signed32 = fc.integer();
const unsigned32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const signed64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const unsigned64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const text = fc.string({ unit: anyCharacter });

function scalarOf(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.DOUBLE:
      return fc.double();
    case ScalarType.FLOAT:
      return fc.float();
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return signed32;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return unsigned32;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return signed64;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return unsigned64;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.STRING:
      return text;
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 });
  }
}

const plainJson = fc
  .jsonValue({ maxDepth: 2, stringUnit: anyCharacter })
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);

const nanos = fc.integer({ min: 0, max: 999_999_999 });

function wellKnown(
  desc: DescMessage,
  { depth, inAny }: Required<MessageOptions>,
): fc.Arbitrary<Message> | undefined {
  switch (desc.typeName) {
    case TimestampSchema.typeName:
      return fc
        .record({ seconds: fc.bigInt({ min: -62135596800n, max: 253402300799n }), nanos })
        .map((value) => create(TimestampSchema, value));
    case DurationSchema.typeName:
      return fc
        .tuple(fc.bigInt({ min: 0n, max: 315576000000n }), nanos, fc.constantFrom(1, -1))
        .map(([seconds, nanos, sign]) =>
          create(DurationSchema, { seconds: seconds * BigInt(sign), nanos: nanos * sign || 0 }),
        );
    case FieldMaskSchema.typeName:
      return fc
        .array(fc.stringMatching(/^[a-z]{1,4}(_[a-z]{1,4})?(\.[a-z]{1,4})?$/), { maxLength: 3 })
        .map((paths) => create(FieldMaskSchema, { paths }));
    case StructSchema.typeName:
      return fc.dictionary(text, plainJson).map((json) => fromJson(StructSchema, json));
    case ListValueSchema.typeName:
      return fc.array(plainJson).map((json) => fromJson(ListValueSchema, json));
    case ValueSchema.typeName:
      return plainJson.map((json) => fromJson(ValueSchema, json));
    case AnySchema.typeName: {
      const empty = fc.constant(create(AnySchema));
      if (depth === 0 || inAny.length === 0) return empty;
      const packed = inAny.map((inner) =>
        messageOf(inner, { depth: depth - 1, inAny }).map((message) => anyPack(inner, message)),
      );
      return fc.oneof(empty, ...packed);
    }
    default:
      return undefined;
  }
}

const jsonScalar = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.string(),
  fc.base64String(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom("1", "-1", "-0", "GENRE_NOVEL", "1s", "-0.5s", "a,b", "{}", "NaN"),
  fc.constant("2024-02-29T00:00:00Z"),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);

const jsonKey = fc.oneof(fc.string(), fc.integer().map(String), fc.constant("true"));

/** JSON that a field may have: much of it valid. */
export const anyFieldJson = fc.oneof(
  { weight: 4, arbitrary: jsonScalar },
  fc.array(jsonScalar, { maxLength: 3 }),
  fc.dictionary(jsonKey, jsonScalar, { maxKeys: 3 }),
);
