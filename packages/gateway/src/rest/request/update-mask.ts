/** PATCH without an update_mask: https://google.aip.dev/134. */
import { create, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import {
  FeatureSet_FieldPresence,
  type FieldMask,
  hasCustomJsonRepresentation,
} from "@bufbuild/protobuf/wkt";
import { type ExactJson, isJsonObject } from "../../codec/json-text.ts";
import { FieldViolation } from "../../codec/violation.ts";
import { type MessageField, maskFieldOf } from "../../rpc/required-fields.ts";
import { type FieldPath, findField, isNameIn, jsonPath } from "../rule/field-path.ts";
import type { Binding } from "../rule/rule.ts";

/** How a binding fills the mask of a request that has none. */
export interface UpdateMask {
  readonly field: MessageField;
  readonly body: MessageField;
  /** Fields of the body that the path sets. A body cannot change them. */
  readonly fixed: readonly FieldPath[];
}

/** RFC 7396. null clears a field, which only a mask can express. */
export const mergePatchType = "application/merge-patch+json";

export function bodyTypesOf(updateMask: UpdateMask | undefined): readonly string[] {
  return ["application/json", ...(updateMask === undefined ? [] : [mergePatchType])];
}

/** The mask of a binding: only for a PATCH whose body is a field of message type. */
export function updateMaskOf(input: DescMessage, binding: Binding): UpdateMask | undefined {
  const { method, body, variables } = binding;
  const field = method === "PATCH" ? maskFieldOf(input) : undefined;
  if (field === undefined || field.oneof !== undefined) return undefined;
  if (typeof body !== "object" || body.fieldKind !== "message") return undefined;
  if (hasCustomJsonRepresentation(body.message)) return undefined;
  const fixed = variables
    .filter(({ path }) => path[0] === body)
    .map(({ path }) => path.slice(1) as unknown as FieldPath);
  return { field, body, fixed };
}

/** A change of a field, or of an entry of a map. */
export interface Change {
  /** The path to it, in the names of a mask. */
  readonly names: readonly string[];
  /** The fields down to it. They end at a map. */
  readonly path: readonly DescField[];
  /** Zeros of fields without presence do not count, unless a merge patch says so. */
  readonly counts: "always" | "if_set" | "never";
}

/**
 * The changes that a body asks for: one for each leaf value in its objects. Lists, maps, messages
 * with a JSON form of their own, null and an object without members are leaves. A merge patch (RFC
 * 7396) merges objects without members, and entries of maps, too. Its nulls are removed from the
 * body: ProtoJSON allows none in a map.
 * @throws {FieldViolation} for a merge patch that no mask expresses.
 */
export function changesIn(
  { body: { message }, fixed }: Pick<UpdateMask, "body" | "fixed">,
  json: ExactJson,
  isPatch: boolean,
): Change[] {
  const isFixed = ({ path }: Change) =>
    fixed.some((one) => one.every((field, i) => field === path[i]));
  if (!isJsonObject(json)) {
    if (!isPatch) return []; // the reader of the body rejects it
    throw new FieldViolation("", "must be a JSON object"); // it would replace the whole resource
  }
  const all = [...changes(message, json, { names: [], path: [], isPatch })];
  return all.filter((change) => !isFixed(change));
}

type MapField = DescField & { readonly fieldKind: "map" };

function* changes(
  holder: DescMessage | MapField,
  json: { [key: string]: ExactJson },
  above: Pick<Change, "names" | "path"> & { readonly isPatch: boolean },
): Generator<Change> {
  const { isPatch } = above;
  for (const [key, value] of Object.entries(json)) {
    const isEntry = holder.kind === "field";
    const field = isEntry ? holder : findField(holder, key);
    if (field === undefined) continue; // the reader of the body rejects or ignores it
    const names = [...above.names, isEntry ? keyName(key) : field.name];
    const path = isEntry ? above.path : [...above.path, field];
    const isMap = field.fieldKind === "map" && !isEntry;
    const inner = isMap ? (isPatch ? field : undefined) : field.message;
    if (isPatch && value === null) {
      const isTwin = (name: string) =>
        name !== key && Object.hasOwn(json, name) && findField(field.parent, name) === field;
      if (!isEntry && [field.name, field.jsonName].some(isTwin)) {
        throw new FieldViolation(jsonPath(path), "must be given once");
      }
      delete json[key];
    }
    if (isIgnored(field, value)) {
      yield { names, path, counts: "never" };
    } else if (inner === undefined || !isJsonObject(value) || field.fieldKind === "list") {
      yield { names, path, counts: isPatch || value === null ? "always" : "if_set" };
    } else if (inner.kind === "message" && hasCustomJsonRepresentation(inner)) {
      if (!isPatch) yield { names, path, counts: "if_set" };
      else
        throw new FieldViolation(jsonPath(path), "cannot be merged: application/json replaces it");
    } else if (Object.keys(value).length === 0) {
      yield { names, path, counts: isPatch ? "never" : "if_set" };
    } else {
      yield* changes(inner, value, { names, path, isPatch });
    }
  }
}

/** Whether it has unknown enum names alone, which the reader of the body rejects or ignores. */
function isIgnored({ enum: type }: DescField, value: ExactJson): boolean {
  if (type === undefined) return false;
  const names = [value].flat();
  return names.length > 0 && names.every((one) => typeof one === "string" && !isNameIn(type, one));
}

/** A key of a map in a mask: https://google.aip.dev/161. */
function keyName(key: string): string {
  return /^\w+$/.test(key) ? key : `\`${key.replaceAll("`", "``")}\``;
}

/**
 * Fills the mask of a request without one. Leaves out zeros without presence: typed clients send them
 * for all that is not set. @throws {FieldViolation} if nothing is left: without a mask, all changes.
 */
export function fillMask(
  { field, body }: UpdateMask,
  request: MessageShape<DescMessage>,
  all: readonly Change[],
): void {
  const holder = request as unknown as Record<string, FieldMask | undefined>;
  const sent = holder[field.localName];
  if (all.length === 0 || (sent !== undefined && sent.paths.length > 0)) return;
  const resource = reflect(field.parent, request).get(body) as ReflectMessage;
  const counted = all.filter(
    ({ path, counts }) => counts === "always" || (counts === "if_set" && isSetIn(resource, path)),
  );
  if (counted.length === 0) {
    const advice = `changes nothing: name what to set to zero in ${field.jsonName}, or send null`;
    throw new FieldViolation("", advice);
  }
  const paths = counted.map(({ names }) => names.join("."));
  holder[field.localName] = Object.assign(create(field.message), { paths }) as FieldMask;
}

/** Whether the last field has presence, or a value other than zero. */
function isSetIn(message: ReflectMessage, [field, ...inner]: readonly DescField[]): boolean {
  if (field === undefined) return true;
  if (inner.length > 0) return isSetIn(message.get(field) as ReflectMessage, inner);
  return field.presence !== FeatureSet_FieldPresence.IMPLICIT || message.isSet(field);
}
