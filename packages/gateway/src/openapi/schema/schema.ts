/** JSON Schema of messages, as the gateway reads and writes them. */
import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  getOption,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { memoized } from "../../codec/decode.ts";
import { scalarOf } from "../../codec/json-messages.ts";
import { integerTypes } from "../../codec/json-scalar.ts";
import { maskFieldOf, messagesIn } from "../../rpc/required-fields.ts";
import { commentOf } from "../comments.ts";
import { type Components, describe, type JsonObject, joined, type Named } from "../components.ts";
import { isLeft, type Taken, takenWithin } from "../operations.ts";
import {
  both,
  choicesOf,
  constrain,
  type FieldRules,
  innerRules,
  refusesZero,
  rulesOf,
  zerosOf,
} from "./rules.ts";
import {
  enumNames,
  enumNumbers,
  integerText,
  type Place,
  type ScalarOptions,
  scalarSchema,
  textConditions,
  wellKnownSchema,
} from "./scalar-schema.ts";

interface SchemaOptions extends Omit<ScalarOptions, "union"> {
  readonly ignoreUnknownFields: boolean;
  readonly examples: Readonly<Record<string, JsonValue>>;
  /**
   * Whether requests are written by language models: 64-bit integers are text, because models and
   * their clients round numbers, enums are names, and fields that are only for answers are left out.
   */
  readonly isForModels?: boolean;
}

export type Schemas = ReturnType<typeof createSchemas>;

export function createSchemas(components: Components, options: SchemaOptions) {
  const { isForModels = false } = options;
  const union = isForModels ? "anyOf" : "oneOf";

  function forField(field: DescField, place: Place, taken: Taken = []): JsonObject {
    const rules = rulesAt(field, place);
    const value = forValue(field, place, rules, taken);
    const mustBeSet = place !== "response" && isRequired(field, place, rules);
    return { ...(mustBeSet ? nonZeroOf(field, value) : value), ...notedOf(field) };
  }

  /** A reference to the schema of a message, or the schema itself for a wrapper. */
  function forMessage(message: DescMessage, place: Place, hasNaN = isForModels): JsonObject {
    if (isWrapperDesc(message)) return forScalar(message.fields[0].scalar, place, hasNaN);
    const wellKnown = wellKnownSchema(message);
    if (wellKnown !== undefined) return components.refer(namesOf(message), () => wellKnown);
    const suffix = place === "patch" ? "Patch" : suffixOf(message, place === "response");
    const example = new Map(Object.entries(options.examples)).get(message.typeName);
    return components.refer(namesOf(message, suffix), () => ({
      ...forFields(message, place),
      ...(example !== undefined && { examples: [example] }),
    }));
  }

  /** The schema of a message, without the fields in the path, which a body must not contradict. */
  function forFields(message: DescMessage, place: Place, taken: Taken = []): JsonObject {
    const isOfModels = isForModels && place !== "response";
    const fields = message.fields.filter(
      (field) => isLeft(taken, field) && !(isOfModels && traitsOf(field).isOutput),
    );
    // Clients of models reject an answer that its schema does not allow.
    const isLoose = isForModels && place === "response";
    const required = fields.filter((field) => !isLoose && isRequired(field, place));
    const hasMask = maskFieldOf(message) !== undefined;
    const properties = fields.map((field) => {
      // An update with a mask needs only the fields of the mask.
      const isMasked = place === "request" && field.fieldKind === "message" && hasMask;
      const schema = forField(field, isMasked ? "patch" : place, takenWithin(taken, field));
      const isNullable = !("const" in schema) && place === "patch" && !isRequired(field, "request");
      return [field.jsonName, isNullable ? { anyOf: [schema, { type: "null" }] } : schema];
    });
    const isClosed = place !== "response" && !options.ignoreUnknownFields;
    return {
      type: "object",
      ...describe(commentOf(message), message.deprecated),
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required: required.map(({ jsonName }) => jsonName) }),
      ...choiceSchema(message, fields, place),
      ...(isClosed && { additionalProperties: false }),
    };
  }

  function forValue(
    field: DescField,
    place: Place,
    rules: FieldRules | undefined,
    taken: Taken,
  ): JsonObject {
    const inner = place === "patch" ? "request" : place; // a mask replaces lists and maps
    switch (field.fieldKind) {
      case "list": {
        const items = forOne(field, inner, innerRules(rules, "items"));
        return constrain({ type: "array", items }, rules, { zero: { maxItems: 0 } }, place);
      }
      case "map": {
        const additionalProperties = forOne(field, inner, innerRules(rules, "values"));
        const names = forKey(field.mapKey, place, innerRules(rules, "keys"));
        const propertyNames = Object.keys(names).length > 0 && { propertyNames: names };
        const schema = { type: "object", ...propertyNames, additionalProperties };
        return constrain(schema, rules, { zero: { maxProperties: 0 } }, place);
      }
      default:
        if (taken.length > 0 && field.fieldKind === "message") {
          return forFields(field.message, place, taken);
        }
        return forOne(field, place, rules);
    }
  }

  /** A key of a map. In JSON, it is text, whatever its type. */
  function forKey(type: ScalarType, place: Place, rules: FieldRules | undefined): JsonObject {
    if (type === ScalarType.BOOL) return { enum: ["true", "false"] };
    const integer = integerTypes.get(type);
    const text =
      integer === undefined
        ? textConditions(place, options.textPattern)
        : { pattern: integerText(integer)["pattern"] };
    const zero = { enum: zerosOf({ scalar: type }) };
    return constrain(text, rules, { scalar: type, zero }, "parameter");
  }

  /** One value of the field: an item of a list, or a value of a map. */
  function forOne(field: DescField, place: Place, rules: FieldRules | undefined): JsonObject {
    const { message, enum: named, scalar = ScalarType.STRING } = field;
    const hasZero = message === undefined && traitsOf(field).isImplicit;
    const zero = hasZero ? { enum: zerosOf(field) } : undefined;
    if (named !== undefined) {
      return constrain(forEnum(named, place), rules, { enum: named, zero }, place);
    }
    const hasNaN = rules === undefined && isForModels; // rules are about numbers
    const schema = message ? forMessage(message, place, hasNaN) : forScalar(scalar, place, hasNaN);
    return constrain(schema, rules, { scalar: scalarOf(field), zero }, written(place));
  }

  /** How a value is written: models write it as in a parameter. */
  function written(place: Place): Place {
    return isForModels && place !== "response" ? "parameter" : place;
  }

  function forScalar(type: ScalarType, place: Place, hasNaN = false): JsonObject {
    const own = { ...options, hasNaN, union } as const;
    // No message has a hyphen in its name.
    return scalarSchema(type, written(place), own, (name, create) =>
      components.refer({ full: `${name}-json`, short: name }, create),
    );
  }

  /** The names in their own schema, so that generated code has an enum, too. */
  function forEnum(desc: DescEnum, place: Place): JsonObject {
    if (desc.typeName === "google.protobuf.NullValue") {
      return place === "parameter" ? { type: "string", enum: ["NULL_VALUE"] } : { const: null };
    }
    const names = components.refer(namesOf(desc, "Name"), () => enumNames(desc));
    if (written(place) === "parameter") return names;
    return components.refer(namesOf(desc), () => ({
      description: `A \`${String(names["$ref"]).split("/").at(-1)}\`, or its number.`,
      [union]: [names, enumNumbers(desc)],
    }));
  }

  return { forField, forMessage, forFields };
}

/** Whether JSON must contain it. */
export function isRequired(
  field: DescField,
  place: Place,
  rules: FieldRules | undefined = rulesAt(field, place),
): boolean {
  // Every parser rejects a message without it, even with a mask.
  if (place === "patch") return field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED;
  const { isRequired: isMarked, isOutput, isInput, isImplicit } = traitsOf(field);
  if (place === "response") return isMarked && !isInput;
  if (rules?.["required"] === true) return true;
  if (isImplicit && rules !== undefined && refusesZero(rules)) return true;
  return isMarked && !isOutput;
}

function rulesAt(field: DescField, place: Place): FieldRules | undefined {
  return place === "response" ? undefined : rulesOf(field);
}

/** `ShelfTheme` for `library.v1.Shelf.Theme`, or its full name. No message has a hyphen there. */
function namesOf({ file, typeName }: DescMessage | DescEnum, suffix = ""): Named {
  const parts = typeName.slice(file.proto.package.length).replaceAll(".", "");
  const local = parts === "Any" ? "AnyMessage" : parts; // Python's models import Any of typing
  return { full: suffix === "" ? typeName : `${typeName}-${suffix}`, short: local + suffix };
}

/** Answers have the plain name, unless the methods of the message's own file have it in requests alone. */
function suffixOf(message: DescMessage, isAnswer: boolean): string {
  const uses = usesIn(message.file);
  const isRequest = uses.requests.has(message) && !uses.answers.has(message);
  if (isAnswer) return isRequest ? "Output" : "";
  return isRequest ? "" : "Input";
}

const usesIn = memoized(({ services }: DescFile) => {
  const methods = services.flatMap((service) => service.methods);
  const requests = new Set(messagesIn(methods.map(({ input }) => input)));
  return { requests, answers: new Set(messagesIn(methods.map(({ output }) => output))) };
});

/** What an object must not contain, as code generators create types for `oneOf` and `anyOf`. */
function choiceSchema(desc: DescMessage, fields: readonly DescField[], place: Place): JsonObject {
  const value = place === "patch" ? { not: { type: "null" } } : {}; // null clears a field
  const refused = choicesOf(desc).flatMap((choice) => {
    const names = choice.fields.filter((one) => fields.includes(one)).map((one) => one.jsonName);
    const later = (i: number) => names.slice(i + 1);
    const pairs = names.flatMap((one, i) => later(i).map((other) => having([one, other], value)));
    const isWhole = names.length === choice.fields.length;
    if (place === "response" || place === "patch" || !choice.isRequired || !isWhole) return pairs;
    return [...pairs, { not: anyOf(names.map((name) => having([name]))) }];
  });
  return refused.length === 0 ? {} : { not: anyOf(refused) };
}

/** Has these members. Linters require `required` members to be properties. */
function having(names: readonly string[], value: JsonObject = {}): JsonObject {
  return { properties: Object.fromEntries(names.map((name) => [name, value])), required: names };
}

function anyOf(schemas: readonly JsonObject[]): JsonObject {
  return schemas.length === 1 ? { ...schemas[0] } : { anyOf: schemas };
}

/** Its description, and whether it is only for requests or answers. */
function notedOf(field: DescField): JsonObject {
  const { isOutput, isInput } = traitsOf(field);
  return {
    ...describe(descriptionOf(field), field.deprecated),
    ...(isOutput && { readOnly: true }),
    ...(isInput && { writeOnly: true }),
  };
}

export function descriptionOf(field: DescField): string {
  const note = traitsOf(field).isImmutable ? "Immutable: it cannot be changed later." : "";
  return joined(commentOf(field), note, defaultOf(field));
}

/** In words: generated clients send a `default`, which sets the field, and the message or oneof around it. */
function defaultOf(field: DescField): string {
  const isValue = field.fieldKind === "scalar" || field.fieldKind === "enum";
  const value = isValue ? field.getDefaultValue() : undefined;
  return value === undefined ? "" : `Default: \`${jsonOf(field, value)}\`.`;
}

function jsonOf(field: DescField, value: unknown): JsonValue {
  if (field.enum !== undefined) return field.enum.value[Number(value)]?.jsonName ?? Number(value);
  if (value instanceof Uint8Array) return base64Encode(value);
  return typeof value === "bigint" ? String(value) : (value as JsonValue);
}

/** The schema of a field that must be set. If its zero value means "not set", excludes zero. */
function nonZeroOf(field: DescField, schema: JsonObject): JsonObject {
  if (!traitsOf(field).isImplicit) return schema;
  const { fieldKind, scalar } = field;
  const filled = (keyword: string) => ({ ...schema, [keyword]: schema[keyword] || 1 });
  if (fieldKind === "list") return filled("minItems");
  if (fieldKind === "map") return filled("minProperties");
  if (scalar === ScalarType.BOOL && String(schema["enum"]) !== "false") {
    return { ...schema, enum: [true] };
  }
  const isText = scalar === ScalarType.STRING || scalar === ScalarType.BYTES;
  if (isText && !("enum" in schema)) return filled("minLength");
  const zeros = [...zerosOf(field), ...(fieldKind === "enum" ? [0] : [])];
  return both(schema, { not: { enum: zeros } });
}

export function traitsOf(field: DescField) {
  const behaviors = getOption(field, field_behavior);
  const { IMPLICIT, LEGACY_REQUIRED } = FeatureSet_FieldPresence;
  return {
    isRequired: behaviors.includes(FieldBehavior.REQUIRED) || field.presence === LEGACY_REQUIRED,
    isOutput: behaviors.includes(FieldBehavior.OUTPUT_ONLY),
    isInput: behaviors.includes(FieldBehavior.INPUT_ONLY),
    isImmutable: behaviors.includes(FieldBehavior.IMMUTABLE),
    /** Whether zero means "not set", so that JSON omits it. */
    isImplicit: field.presence === IMPLICIT,
  };
}
