/** PATCH without an update_mask: https://google.aip.dev/134. */
import { create, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { type ExactJson, isJsonObject } from "../../json/value.ts";
import { type FieldPath, findField, hasCustomJson } from "../rule/field-path.ts";
import type { Binding } from "../rule/rule.ts";

/** How a binding fills the mask of a request that has none. */
export interface UpdateMask {
  /** The `update_mask` field of the request. */
  readonly field: DescField;
  /** The message type of the body. */
  readonly resource: DescMessage;
  /** Fields of the resource that the path sets. A body cannot change them. */
  readonly fixed: readonly FieldPath[];
}

/** The mask of a binding: only for a PATCH whose body is a field of message type. */
export function updateMaskOf(input: DescMessage, binding: Binding): UpdateMask | undefined {
  const { method, body, variables } = binding;
  if (method !== "PATCH" || typeof body !== "object" || body.fieldKind !== "message") {
    return undefined;
  }
  const field = input.fields.find(({ name }) => name === "update_mask");
  const isMask = field?.message?.typeName === FieldMaskSchema.typeName;
  if (!isMask || field.fieldKind !== "message" || field.oneof !== undefined) return undefined;
  if (hasCustomJson(body.message)) return undefined;
  const fixed = variables
    .filter(({ path }) => path[0] === body)
    .map(({ path }) => path.slice(1) as unknown as FieldPath);
  return { field, resource: body.message, fixed };
}

/**
 * The paths that a body sets, by proto names: those of the leaf values in its objects. Lists, maps
 * and messages with a JSON form of their own (a Timestamp, a Struct) are leaves. So are null, with
 * which a client clears a field, and an object without members.
 */
export function maskPaths({ resource, fixed }: UpdateMask, body: ExactJson): string[] {
  const isFixed = (path: readonly DescField[]) =>
    fixed.some((one) => one.length === path.length && one.every((field, i) => field === path[i]));
  return [...leaves(resource, body, [])]
    .filter((path) => !isFixed(path))
    .map((path) => path.map(({ name }) => name).join("."));
}

function* leaves(
  message: DescMessage,
  json: ExactJson,
  above: readonly DescField[],
): Generator<readonly DescField[]> {
  if (!isJsonObject(json)) return;
  for (const [name, value] of Object.entries(json)) {
    const field = findField(message, name);
    if (field === undefined) continue; // the reader of the body rejects or ignores it
    const path = [...above, field];
    const hasFields = field.fieldKind === "message" && !hasCustomJson(field.message);
    const isBranch = hasFields && isJsonObject(value) && Object.keys(value).length > 0;
    if (isBranch) yield* leaves(field.message, value, path);
    else yield path;
  }
}

/** Fills the mask of a request, unless the client has sent one. */
export function fillMask(
  { field }: UpdateMask,
  request: MessageShape<DescMessage>,
  paths: readonly string[],
): void {
  const holder = request as unknown as Record<string, FieldMask | undefined>;
  const sent = holder[field.localName];
  if (paths.length === 0 || (sent !== undefined && sent.paths.length > 0)) return;
  holder[field.localName] = create(FieldMaskSchema, { paths: [...paths] });
}
