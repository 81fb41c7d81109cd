/** Rejects requests without required fields, for every message, by reflection. */
import {
  clone,
  type DescField,
  type DescMessage,
  getOption,
  isFieldSet,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence, type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import type { Interceptor, StreamRequest } from "@connectrpc/connect";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { badRequest, FieldViolation } from "../codec/violation.ts";

type Message = MessageShape<DescMessage>;

/**
 * A server interceptor that rejects a request if a field is not set that
 * `google.api.field_behavior` requires, at any depth: INVALID_ARGUMENT, with a violation for each
 * such field. A field without presence (a plain proto3 scalar) is set if it is not zero; declare it
 * `optional` if zero is a valid value. An update with a mask needs only the fields of the mask:
 * https://google.aip.dev/203.
 */
export const requireFields: Interceptor = (next) => check(marked, next);

/**
 * The interceptors, preceded by a check for required fields of proto2. Other protobuf parsers make
 * this check; protobuf-es does not. A message without them could not be sent on.
 */
export function withLegacyCheck(input: DescMessage, interceptors: Interceptor[]): Interceptor[] {
  if (planOf(legacy, input).checks.length === 0) return interceptors;
  return [(next) => check(legacy, next), ...interceptors];
}

interface Requirement {
  requires(field: DescField): boolean;
  /** If a message is an update with a mask: fields that the mask leaves out need not be set. */
  readonly updateOf?: (desc: DescMessage, message: Message) => MaskedUpdate | undefined;
  readonly plans: WeakMap<DescMessage, Plan>;
}

const marked: Requirement = {
  requires: (field) => getOption(field, field_behavior).includes(FieldBehavior.REQUIRED),
  updateOf: maskedUpdateOf,
  plans: new WeakMap(),
};

const legacy: Requirement = {
  requires: ({ presence }) => presence === FeatureSet_FieldPresence.LEGACY_REQUIRED,
  plans: new WeakMap(),
};

function check(kind: Requirement, next: Parameters<Interceptor>[0]): typeof next {
  return (request) => {
    const plan = planOf(kind, request.method.input);
    if (plan.checks.length === 0) return next(request);
    if (request.stream) return next({ ...request, message: checked(kind, plan, request) });
    assertRequiredFields(kind, plan, request.message);
    return next(request);
  };
}

async function* checked(kind: Requirement, plan: Plan, request: StreamRequest) {
  for await (const message of request.message) {
    assertRequiredFields(kind, plan, message);
    yield message;
  }
}

function assertRequiredFields({ updateOf }: Requirement, plan: Plan, message: Message): void {
  const update = plan.hasMask ? updateOf?.(plan.desc, message) : undefined;
  const all = missingFields(plan, update?.request ?? message);
  const missing = all?.filter(({ path }) => update?.names(path) ?? true) ?? [];
  if (missing.length > 0) throw badRequest(missing.map(({ violation }) => violation));
}

interface Missing {
  /** Proto names, with the keys of maps, and `*` for items of lists. */
  readonly path: readonly string[];
  readonly violation: FieldViolation;
}

/** Undefined for none: almost every message is complete. */
function missingFields({ checks }: Plan, message: Message): Missing[] | undefined {
  let all: Missing[] | undefined;
  for (const { field, required, held } of checks) {
    const { name, jsonName, fieldKind } = field;
    if (!isFieldSet(message, field)) {
      if (!required) continue;
      all ??= [];
      all.push({ path: [name], violation: new FieldViolation(jsonName, "is required") });
    } else if (held !== undefined) {
      const value = heldIn(message, field);
      if (fieldKind === "list") {
        for (let i = 0; i < value.length; i++) {
          const inner = missingFields(held, value[i] as Message);
          if (inner) all = added(all, inner, [name, "*"], `${jsonName}[${i}]`);
        }
      } else if (fieldKind === "map") {
        for (const key in value) {
          const inner = missingFields(held, value[key] as Message);
          if (inner) all = added(all, inner, [name, key], `${jsonName}["${key}"]`);
        }
      } else {
        const inner = missingFields(held, value as unknown as Message);
        if (inner) all = added(all, inner, [name], jsonName);
      }
    }
  }
  return all;
}

/** With those of a message in a field, by the field's path as in a mask, and as in violations. */
function added(
  all: Missing[] = [],
  inner: readonly Missing[],
  steps: readonly string[],
  name: string,
): Missing[] {
  for (const { path, violation } of inner) {
    all.push({ path: [...steps, ...path], violation: violation.within(name) });
  }
  return all;
}

/** A message, or a list or a map of them. */
function heldIn(message: Message, { localName, oneof }: DescField) {
  const holder = message as unknown as Record<string, unknown>;
  const value = oneof ? (holder[oneof.localName] as { value: unknown }).value : holder[localName];
  return value as Message[] & Record<string, Message>;
}

interface Plan {
  readonly desc: DescMessage;
  readonly hasMask: boolean;
  readonly checks: Check[];
}

interface Check {
  readonly field: DescField;
  readonly required: boolean;
  /** For its message type, if that may have required fields. */
  readonly held: Plan | undefined;
}

function planOf(kind: Requirement, desc: DescMessage): Plan {
  const known = kind.plans.get(desc);
  if (known !== undefined) return known;
  const plan: Plan = { desc, hasMask: maskFieldOf(desc) !== undefined, checks: [] };
  kind.plans.set(desc, plan); // a message may contain itself
  for (const field of desc.fields) {
    const required = kind.requires(field);
    const { message } = field;
    const isHeld = message !== undefined && searchRequired(kind, message, new Set());
    const held = isHeld ? planOf(kind, message) : undefined;
    if (required || isHeld) plan.checks.push({ field, required, held });
  }
  return plan;
}

function searchRequired(kind: Requirement, desc: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  return desc.fields.some(
    (field) =>
      kind.requires(field) ||
      (field.message !== undefined && searchRequired(kind, field.message, seen)),
  );
}

/** Requests with an `update_mask`: https://google.aip.dev/134. */
interface MaskedUpdate {
  /** The request, with every message set that contains a field of the mask. */
  readonly request: Message;
  /** Whether the mask contains a field, or the field is not part of the resource. By proto names. */
  names(path: readonly string[]): boolean;
}

type MessageField = DescField & { readonly fieldKind: "message" };

/** The mask of an update. */
export function maskFieldOf({ fields }: DescMessage): MessageField | undefined {
  const field = fields.find(({ name }) => name === "update_mask");
  const isOne = field?.fieldKind === "message";
  return isOne && field.message.typeName === FieldMaskSchema.typeName ? field : undefined;
}

/** Undefined for a mask that names no field: an empty one, or `*`. */
function maskedUpdateOf(desc: DescMessage, message: Message): MaskedUpdate | undefined {
  const request = reflect(desc, message);
  const { paths } = request.get(maskFieldOf(desc) as MessageField).message as FieldMask;
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
    request: complete.message,
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
