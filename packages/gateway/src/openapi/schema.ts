/** JSON Schema of messages, as the gateway reads and writes them. */
import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { integerTypes } from "../json/scalar.ts";

export type JsonObject = { [key: string]: unknown };

/** What a schema is for: the gateway takes 64-bit integers in two forms, and writes one. */
export type Direction = "request" | "response";

export interface SchemaOptions {
  /** How the gateway is set to write 64-bit integers. */
  readonly int64: "string" | "number";
  /** The comment on a message or field, as plain text; empty without one. */
  readonly describe: (desc: DescMessage | DescField) => string;
}

/** The schemas under `#/components/schemas`, gathered as they are referred to. */
export class Schemas {
  readonly components: { [name: string]: JsonObject } = {};
  readonly #options: SchemaOptions;
  readonly #answered: ReadonlySet<DescMessage>;

  /** @param answers The messages that answer; what they hold is found. */
  constructor(answers: readonly DescMessage[], options: SchemaOptions) {
    this.#options = options;
    this.#answered = new Set(answers.flatMap((message) => [...reachableFrom(message)]));
  }

  /** A schema for the value of a field, with its comment. */
  forField(field: DescField, direction: Direction): JsonObject {
    const description = this.#options.describe(field);
    const schema = this.#forFieldValue(field, direction);
    return description === "" ? schema : { ...schema, description };
  }

  /** A reference to the schema of a message, or the schema itself for a well-known type. */
  forMessage(message: DescMessage, direction: Direction): JsonObject {
    const wellKnown = this.#forWellKnown(message, direction);
    if (wellKnown !== undefined) return wellKnown;
    const isTwofold = this.#answered.has(message) && hasLong(message);
    const name = `${nameOf(message)}${isTwofold && direction === "request" ? "Input" : ""}`;
    if (!(name in this.components)) {
      this.components[name] = {}; // a message may contain itself
      Object.assign(this.components[name] ?? {}, this.#forFields(message, direction));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #forFields(message: DescMessage, direction: Direction): JsonObject {
    const description = this.#options.describe(message);
    const required = message.fields.filter(isRequired).map((field) => field.jsonName);
    const properties = message.fields.map((field) => [
      field.jsonName,
      this.forField(field, direction),
    ]);
    return {
      type: "object",
      ...(description !== "" && { description }),
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
    };
  }

  #forFieldValue(field: DescField, direction: Direction): JsonObject {
    switch (field.fieldKind) {
      case "list":
        return { type: "array", items: this.#forOne(field, direction) };
      case "map":
        return { type: "object", additionalProperties: this.#forOne(field, direction) };
      default:
        return this.#forOne(field, direction);
    }
  }

  /** One value of the field: an item of a list, a value of a map. */
  #forOne(field: DescField, direction: Direction): JsonObject {
    if (field.message !== undefined) return this.forMessage(field.message, direction);
    if (field.enum !== undefined) {
      return { type: "string", enum: field.enum.values.map(({ name }) => name) };
    }
    return this.#forScalar(field.scalar ?? ScalarType.STRING, direction);
  }

  #forScalar(type: ScalarType, direction: Direction): JsonObject {
    const integer = integerTypes.get(type);
    if (integer !== undefined) {
      const format = `${integer.signed ? "int" : "uint"}${integer.bits}`;
      if (integer.bits === 32) return { type: "integer", format };
      if (direction === "request") {
        const pattern = `^${integer.signed ? "-?" : ""}(0|[1-9][0-9]*)$`; // of the string
        return { type: ["integer", "string"], format, pattern };
      }
      return { type: this.#options.int64 === "number" ? "integer" : "string", format };
    }
    switch (type) {
      case ScalarType.BOOL:
        return { type: "boolean" };
      case ScalarType.DOUBLE:
        return { type: "number", format: "double" };
      case ScalarType.FLOAT:
        return { type: "number", format: "float" };
      case ScalarType.BYTES:
        return { type: "string", contentEncoding: "base64" };
      default:
        return { type: "string" };
    }
  }

  #forWellKnown(message: DescMessage, direction: Direction): JsonObject | undefined {
    if (isWrapperDesc(message)) return this.#forScalar(message.fields[0].scalar, direction);
    switch (message.typeName) {
      case "google.protobuf.Timestamp":
        return { type: "string", format: "date-time" };
      case "google.protobuf.Duration":
        return { type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$" };
      case "google.protobuf.FieldMask":
        return { type: "string" };
      case "google.protobuf.Struct":
      case "google.protobuf.Any":
        return { type: "object" };
      case "google.protobuf.ListValue":
        return { type: "array", items: {} };
      case "google.protobuf.Value":
        return {};
      default:
        return undefined;
    }
  }
}

export function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/** `library.v1.Shelf.Theme` is `ShelfTheme`: the package is that of the document. */
function nameOf(message: DescMessage): string {
  const prefix = message.file.proto.package;
  return message.typeName.slice(prefix === "" ? 0 : prefix.length + 1).replaceAll(".", "");
}

/** Whether its JSON in requests and in answers differs: it holds a 64-bit integer. */
function hasLong(message: DescMessage): boolean {
  return [...reachableFrom(message)].some(({ fields }) =>
    fields.some(({ scalar }) => scalar !== undefined && integerTypes.get(scalar)?.bits === 64),
  );
}

/** The message and all that it may hold, at any depth. */
function reachableFrom(message: DescMessage, found = new Set<DescMessage>()): Set<DescMessage> {
  if (found.has(message)) return found;
  found.add(message);
  for (const field of message.fields) {
    if (field.message !== undefined) reachableFrom(field.message, found);
  }
  return found;
}
