/**
 * Comments of a proto, from its descriptors. Those of compilers include them, generated code does
 * not.
 */
import type { AnyDesc, DescFile } from "@bufbuild/protobuf";

/** The descriptors that can have comments. */
export type Commented = Exclude<AnyDesc, { kind: "file" }>;

/**
 * The comment before an element, or else after it, as plain text: lines joined, paragraphs kept.
 * Empty if there is none.
 */
export function commentOf(desc: Commented): string {
  const path = pathOf(desc);
  return path === undefined ? "" : (commentsOf(fileOf(desc)).get(path.join(".")) ?? "");
}

const commentsByFile = new WeakMap<DescFile, ReadonlyMap<string, string>>();

function commentsOf(file: DescFile): ReadonlyMap<string, string> {
  const known = commentsByFile.get(file);
  if (known !== undefined) return known;
  const locations = file.proto.sourceCodeInfo?.location ?? [];
  const comments = new Map(
    locations.map(({ path, leadingComments, trailingComments }) => [
      path.join("."),
      plainText(leadingComments || trailingComments),
    ]),
  );
  commentsByFile.set(file, comments);
  return comments;
}

function plainText(comment: string): string {
  const lines = comment.split("\n").map((line) => line.replace(/^ /, "").trimEnd());
  return lines
    .join("\n")
    .trim()
    .replaceAll(/(?<!\n)\n(?!\n)/g, " ");
}

function fileOf(desc: Commented): DescFile {
  return "file" in desc ? desc.file : desc.parent.file;
}

/** Its location in the file: field numbers of descriptor.proto, and indexes. */
function pathOf(desc: Commented): readonly number[] | undefined {
  switch (desc.kind) {
    case "message":
      return desc.parent === undefined
        ? at([], 4, desc.file.proto.messageType, desc.proto)
        : at(pathOf(desc.parent), 3, desc.parent.proto.nestedType, desc.proto);
    case "enum":
      return desc.parent === undefined
        ? at([], 5, desc.file.proto.enumType, desc.proto)
        : at(pathOf(desc.parent), 4, desc.parent.proto.enumType, desc.proto);
    case "service":
      return at([], 6, desc.file.proto.service, desc.proto);
    case "extension":
      return desc.parent === undefined
        ? at([], 7, desc.file.proto.extension, desc.proto)
        : at(pathOf(desc.parent), 6, desc.parent.proto.extension, desc.proto);
    case "field":
      return at(pathOf(desc.parent), 2, desc.parent.proto.field, desc.proto);
    case "oneof":
      return at(pathOf(desc.parent), 8, desc.parent.proto.oneofDecl, desc.proto);
    case "enum_value":
      return at(pathOf(desc.parent), 2, desc.parent.proto.value, desc.proto);
    case "rpc":
      return at(pathOf(desc.parent), 2, desc.parent.proto.method, desc.proto);
  }
}

function at<T>(
  parent: readonly number[] | undefined,
  field: number,
  siblings: readonly T[],
  one: T,
): readonly number[] | undefined {
  const index = siblings.indexOf(one);
  return parent === undefined || index === -1 ? undefined : [...parent, field, index];
}
