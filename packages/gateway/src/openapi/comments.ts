/** Comments of a proto, which the descriptors of compilers include, and generated code does not. */
import type { AnyDesc, DescField, DescFile, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { memoized } from "../codec/decode.ts";

/** The comment before or after an element, as plain text with its paragraphs; empty if there is none. */
export function commentOf(desc: Exclude<AnyDesc, { kind: "file" }>): string {
  const file = "file" in desc ? desc.file : desc.parent.file;
  return commentsIn(file).get(desc.proto) ?? "";
}

/** `Create plant` for `CreatePlant`, which says something where there is no comment. */
export function titleOf({ name }: DescMethod): string {
  const words = snakeCase(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function snakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, "_").toLowerCase();
}

const commentsIn = memoized(({ proto: file }: DescFile): ReadonlyMap<object, string> => {
  const locations = file.sourceCodeInfo?.location ?? [];
  return new Map(
    locations.flatMap(({ path, leadingComments, trailingComments }) => {
      const element = elementAt(file, path);
      const comment = leadingComments || trailingComments;
      return element === undefined || comment === "" ? [] : [[element, plainText(comment)]];
    }),
  );
});

/** @param path Numbers of fields of descriptor.proto, each with an index. */
function elementAt(file: FileDescriptorProto, path: readonly number[]): object | undefined {
  let desc: DescMessage | undefined = FileDescriptorProtoSchema;
  let element: unknown = file;
  for (let i = 0; i < path.length; i += 2) {
    const field: DescField | undefined = desc?.fields.find(({ number }) => number === path[i]);
    const list = (element as Record<string, unknown>)[field?.localName ?? ""];
    element = Array.isArray(list) ? list[path[i + 1] ?? -1] : undefined;
    if (typeof element !== "object" || element === null) return undefined;
    desc = field?.message;
  }
  return element as object;
}

function plainText(comment: string): string {
  const lines = comment.split("\n").map((line) => line.replace(/^ /, "").trimEnd());
  return lines
    .join("\n")
    .trim()
    .replaceAll(/(?<!\n)\n(?!\n)/g, " ");
}
