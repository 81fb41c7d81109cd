/** JSON Schema of enums: their names, and their numbers. */
import type { DescEnum } from "@bufbuild/protobuf";
import { commentOf } from "../comments.ts";
import { describe, type JsonObject } from "../json-object.ts";
import { integerNumber } from "./scalar-schema.ts";

export function enumNames(desc: DescEnum): JsonObject {
  return {
    type: "string",
    ...describe(enumDescription(desc), desc.deprecated),
    enum: desc.values.map(({ jsonName }) => jsonName),
  };
}

/** An open enum accepts any number, because later versions may have values without a name here. */
export function enumNumbers({ open, values }: DescEnum): JsonObject {
  if (open) return integerNumber("int32", { min: -(2n ** 31n), max: 2n ** 31n - 1n });
  return {
    type: "integer",
    format: "int32",
    enum: [...new Set(values.map(({ number }) => number))],
  };
}

function enumDescription(desc: DescEnum): string {
  const values = desc.values.flatMap((value) => {
    const notes = [commentOf(value), value.deprecated ? "Deprecated." : ""];
    const note = notes.filter((part) => part !== "").join(" ");
    return note === "" ? [] : [`- \`${value.jsonName}\`: ${note}`];
  });
  return [commentOf(desc), values.join("\n")].filter((part) => part !== "").join("\n\n");
}
