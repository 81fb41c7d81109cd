/** A request with an `update_mask`: https://google.aip.dev/134. */
import { clone, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";

export interface MaskedUpdate {
  /** The request, in which each message on the way to what the mask names is set. */
  readonly request: ReflectMessage;
  /** Whether the mask names a field, or the field is none of the resource's. By proto names. */
  names(path: readonly string[]): boolean;
}

type MessageField = DescField & { readonly fieldKind: "message" };

/** The field of an update that names what to change. */
export function maskFieldOf({ fields }: DescMessage): MessageField | undefined {
  const field = fields.find(({ name }) => name === "update_mask");
  const isOne = field?.fieldKind === "message";
  return isOne && field.message.typeName === FieldMaskSchema.typeName ? field : undefined;
}

/** Undefined without a mask, or with one that stands for all. */
export function maskedUpdateOf(
  desc: DescMessage,
  message: MessageShape<DescMessage>,
): MaskedUpdate | undefined {
  const field = maskFieldOf(desc);
  if (field === undefined) return undefined;
  const request = reflect(desc, message);
  const { paths } = request.get(field).message as FieldMask;
  if (paths.length === 0 || paths.includes("*")) return undefined;
  const all = paths.map(parsePath);
  const resource = request.fields.find(
    (one) => one.fieldKind === "message" && all.some(([name]) => fieldOf(one.message, name)),
  );
  if (resource === undefined) return undefined;
  const complete = reflect(desc, clone(desc, message));
  if (request.isSet(resource)) {
    for (const path of all) setParents(complete, [resource.name, ...path.slice(0, -1)]);
  }
  return {
    request: complete,
    names: ([first, ...path]) =>
      first !== resource.name ||
      path.length === 0 ||
      all.some((one) => one.every((name, i) => name === "*" || name === path[i])),
  };
}

function setParents(message: ReflectMessage, [name, ...path]: readonly string[]): void {
  const field = fieldOf(message.desc, name);
  if (field?.fieldKind !== "message") return;
  if (!message.isSet(field)) message.set(field, message.get(field));
  setParents(message.get(field), path);
}

function fieldOf({ fields }: DescMessage, name: string | undefined) {
  return fields.find((field) => field.name === name);
}

/** Keys of maps may be in backticks: https://google.aip.dev/161. */
function parsePath(path: string): string[] {
  return [...path.matchAll(/`((?:[^`]|``)*)`|[^.]+/g)].map(
    ([text, key]) => key?.replaceAll("``", "`") ?? text,
  );
}
