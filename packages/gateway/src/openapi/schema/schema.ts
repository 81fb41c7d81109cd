/** JSON Schema of messages, as the gateway reads and writes them. */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { commentOf } from "../comments.ts";
import type { Components } from "../components.ts";
import type { JsonObject } from "../json-object.ts";
import type { Taken } from "../taken.ts";
import { type FieldRules, innerRules, rulesOf } from "../validate/options.ts";
import { constrain } from "../validate/rules.ts";
import { refusesZero } from "../validate/zero.ts";
import { choiceSchema } from "./choice-schema.ts";
import { enumNames, enumNumbers } from "./enum-schema.ts";
import { defaultOf, nonZeroOf, notedOf } from "./field-notes.ts";
import { traitsOf } from "./field-traits.ts";
import { mapKeySchema } from "./map-key.ts";
import { type Place, type ScalarOptions, scalarSchema } from "./scalar-schema.ts";
import { wellKnownSchema } from "./well-known-schema.ts";

export interface SchemaOptions extends ScalarOptions {
  /** Whether requests may have unknown members. */
  readonly ignoreUnknownFields: boolean;
  /** Examples of messages by full name. */
  readonly examples: Readonly<Record<string, JsonValue>>;
  /**
   * The names for variants of request and response messages, if these options differ from the
   * general ones.
   */
  readonly variants: { readonly [twin in "request" | "response"]?: string | undefined };
}

export class Schemas {
  readonly #components: Components;
  readonly #options: SchemaOptions;

  constructor(components: Components, options: SchemaOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** A schema for the value of a field, with everything known about the field. */
  forField(field: DescField, place: Place, taken?: Taken): JsonObject {
    const rules = place === "response" ? undefined : rulesOf(field);
    const value = this.#forValue(field, place, rules, taken);
    const mustBeSet = place !== "response" && isRequired(field, place, rules);
    const schema = mustBeSet ? nonZeroOf(field, value) : value;
    return { ...schema, ...defaultOf(field), ...notedOf(field) };
  }

  /** A reference to the schema of a message, or the schema itself for a wrapper. */
  forMessage(message: DescMessage, place: Place): JsonObject {
    if (isWrapperDesc(message)) return this.#forScalar(message.fields[0].scalar, place);
    const wellKnown = wellKnownSchema(message);
    if (wellKnown !== undefined) {
      return this.#components.refer({ ...namesOf(message), twin: undefined }, () => wellKnown);
    }
    const twin = place === "response" ? "response" : "request";
    const variant = this.#options.variants[twin];
    return this.#components.refer({ ...namesOf(message), twin, variant }, () => ({
      ...this.#forFields(message, place),
      ...this.#exampleOf(message),
    }));
  }

  /**
   * The schema of a request message without the fields in the path. A body that contradicts them is
   * rejected.
   */
  forRest(message: DescMessage, taken: Taken): JsonObject {
    return this.#forFields(message, "request", taken);
  }

  /** The same, but null clears optional members. */
  forPatch(message: DescMessage, taken: Taken | undefined): JsonObject {
    const { properties, ...schema } = this.#forFields(message, "request", taken);
    const { required } = schema;
    const mustBe = (name: string) => Array.isArray(required) && required.includes(name);
    const nullable = Object.entries(properties as JsonObject).map(([name, one]) => [
      name,
      mustBe(name) ? one : { anyOf: [one, { type: "null" }] },
    ]);
    return { ...schema, properties: Object.fromEntries(nullable) };
  }

  #forFields(message: DescMessage, place: Place, taken?: Taken): JsonObject {
    const fields = message.fields.filter((field) => taken?.isLeft(field) ?? true);
    const required = fields.filter((field) => isRequired(field, place, rulesAt(field, place)));
    const properties = fields.map((field) => [
      field.jsonName,
      this.forField(field, place, taken?.within(field)),
    ]);
    const isClosed = place !== "response" && !this.#options.ignoreUnknownFields;
    const description = commentOf(message);
    return {
      type: "object",
      ...(description !== "" && { description }),
      ...(message.deprecated && { deprecated: true }),
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required: required.map(({ jsonName }) => jsonName) }),
      ...choiceSchema(message, fields, place),
      ...(isClosed && { additionalProperties: false }),
    };
  }

  #forValue(
    field: DescField,
    place: Place,
    rules: FieldRules | undefined,
    taken: Taken | undefined,
  ): JsonObject {
    switch (field.fieldKind) {
      case "list": {
        const items = this.#forOne(field, place, innerRules(rules, "items"));
        return constrained({ type: "array", items }, rules, {}, place);
      }
      case "map": {
        const additionalProperties = this.#forOne(field, place, innerRules(rules, "values"));
        const { textPattern } = this.#options;
        const keys = innerRules(rules, "keys");
        const propertyNames = mapKeySchema(field.mapKey, place, keys, textPattern);
        const schema = { type: "object", ...propertyNames, additionalProperties };
        return constrained(schema, rules, {}, place);
      }
      default:
        if (taken !== undefined && field.fieldKind === "message") {
          return this.forRest(field.message, taken);
        }
        return this.#forOne(field, place, rules);
    }
  }

  /** One value of the field: an item of a list, or a value of a map. */
  #forOne(field: DescField, place: Place, rules: FieldRules | undefined): JsonObject {
    const { message } = field;
    if (message !== undefined) {
      const scalar = isWrapperDesc(message) ? message.fields[0].scalar : undefined;
      return constrained(this.forMessage(message, place), rules, { scalar }, place);
    }
    if (field.enum !== undefined) {
      return constrained(this.#forEnum(field.enum, place), rules, { enum: field.enum }, place);
    }
    const scalar = field.scalar ?? ScalarType.STRING;
    return constrained(this.#forScalar(scalar, place), rules, { scalar }, place);
  }

  #forScalar(type: ScalarType, place: Place): JsonObject {
    const found = scalarSchema(type, place, this.#options);
    if (found.kind === "inline") return found.schema;
    // No message has a hyphen in its name.
    const named = { full: `${found.name}-json`, short: found.name, twin: undefined };
    return this.#components.refer(named, () => {
      if (found.kind === "named") return found.schema;
      const description =
        "A 64-bit integer: a JSON number, or its decimal digits as text. The text keeps integers past 2^53 exact where JSON numbers are doubles.";
      return { description, anyOf: [found.number, this.#forScalar(type, "parameter")] };
    });
  }

  /** The names in their own schema, so that generated code has an enum, too. */
  #forEnum(desc: DescEnum, place: Place): JsonObject {
    if (desc.typeName === "google.protobuf.NullValue") {
      return place === "parameter" ? { type: "string", enum: ["NULL_VALUE"] } : { type: "null" };
    }
    const { full, short } = namesOf(desc);
    const named = { full: `${full}-Name`, short: `${short}Name`, twin: undefined };
    const names = this.#components.refer(named, () => enumNames(desc));
    if (place === "parameter") return names;
    return this.#components.refer({ full, short, twin: undefined }, () => ({
      description: `A \`${named.short}\`, or its number.`,
      anyOf: [names, enumNumbers(desc)],
    }));
  }

  #exampleOf({ typeName }: DescMessage): JsonObject {
    const example = this.#options.examples[typeName];
    return example === undefined ? {} : { examples: [example] };
  }
}

/** Whether JSON must contain it. */
export function isRequired(
  field: DescField,
  place: Place,
  rules: FieldRules | undefined = rulesAt(field, place),
): boolean {
  const { isRequired: isMarked, isOutput, isInput, isImplicit } = traitsOf(field);
  if (place === "response") return isMarked && !isInput;
  if (rules?.["required"] === true) return true;
  if (isImplicit && rules !== undefined && refusesZero(rules)) return true;
  return isMarked && !isOutput;
}

function rulesAt(field: DescField, place: Place): FieldRules | undefined {
  return place === "response" ? undefined : rulesOf(field);
}

function constrained(
  schema: JsonObject,
  rules: FieldRules | undefined,
  value: { readonly scalar?: ScalarType | undefined; readonly enum?: DescEnum },
  place: Place,
): JsonObject {
  return rules === undefined ? schema : constrain(schema, rules, value, place);
}

/** `ShelfTheme` for `library.v1.Shelf.Theme`, or its full name. */
function namesOf({ file, typeName }: DescMessage | DescEnum): { full: string; short: string } {
  const prefix = file.proto.package;
  const local = typeName.slice(prefix === "" ? 0 : prefix.length + 1);
  return { full: typeName, short: local.replaceAll(".", "") };
}
