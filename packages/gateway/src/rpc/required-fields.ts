/** Rejects requests without required fields, for every message, by reflection. */
import { clone, type DescField, type DescMessage, getOption, isFieldSet } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence, type FieldMask } from "@bufbuild/protobuf/wkt";
import type { Interceptor, StreamRequest } from "@connectrpc/connect";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import type { Message } from "../codec/codec.ts";
import { badRequest, FieldViolation, violationsMax } from "../codec/violation.ts";

/**
 * A server interceptor that rejects a request if a field is not set that
 * `google.api.field_behavior` requires, at any depth: INVALID_ARGUMENT, with a violation for each
 * such field. A field without presence (a plain proto3 scalar) is set if it is not zero; declare it
 * `optional` if zero is a valid value. An update with a mask needs only the fields of the mask, and
 * one that is `OUTPUT_ONLY`, too, is required of answers: https://google.aip.dev/203.
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
  requires: (field) => {
    const all = getOption(field, field_behavior);
    return all.includes(FieldBehavior.REQUIRED) && !all.includes(FieldBehavior.OUTPUT_ONLY);
  },
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
  const all: Place[] = [];
  findMissing(plan, update?.request ?? message, all);
  const missing = update === undefined ? all : all.filter((one) => update.names(pathOf(one)));
  const violations = missing.slice(0, violationsMax).map(violationOf);
  violations.length = missing.length; // the others only count
  if (missing.length > 0) throw badRequest(violations);
}

/** A field, or an item or entry of it. A path for each, of which there may be many, would take long. */
interface Place {
  readonly above: Place | undefined;
  readonly field: DescField;
  readonly key?: string | undefined;
}

function* upFrom(place: Place | undefined): Generator<Place> {
  for (let at = place; at !== undefined; at = at.above) yield at;
}

/** In proto names, with the keys of maps and the indexes of lists. */
function pathOf(place: Place): readonly string[] {
  const names = ({ field: { name }, key }: Place) => (key === undefined ? [name] : [name, key]);
  return [...upFrom(place)].reverse().flatMap(names);
}

function violationOf({ above, field }: Place): FieldViolation {
  let violation = new FieldViolation(field.jsonName, "is required");
  for (const { field, key } of upFrom(above)) {
    const label = key === undefined ? "" : `[${field.fieldKind === "list" ? key : `"${key}"`}]`;
    violation = violation.within(`${field.jsonName}${label}`);
  }
  return violation;
}

function findMissing({ checks }: Plan, message: Message, all: Place[], above?: Place): void {
  for (const { field, required, held } of checks) {
    if (!isFieldSet(message, field)) {
      if (required) all.push({ above, field });
    } else if (held !== undefined) {
      const { fieldKind, localName, oneof } = field;
      const holder = message as unknown as Record<string, unknown>;
      const inOneof = oneof && (holder[oneof.localName] as { readonly value: unknown }).value;
      const value = (inOneof ?? holder[localName]) as Message | Message[] | Record<string, Message>;
      const isOne = fieldKind === "message";
      for (const [key, item] of isOne ? [[undefined, value] as const] : Object.entries(value))
        findMissing(held, item as Message, all, { above, field, key });
    }
  }
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
    const isHeld = message && messagesIn([message]).some((one) => one.fields.some(kind.requires));
    const held = isHeld ? planOf(kind, message) : undefined;
    if (required || isHeld) plan.checks.push({ field, required, held });
  }
  return plan;
}

/** Messages, and those in their fields, at every depth. */
export function* messagesIn(roots: readonly DescMessage[]): Generator<DescMessage> {
  const all = new Set(roots);
  for (const one of all) {
    yield one;
    for (const { message } of one.fields) if (message !== undefined) all.add(message);
  }
}

/** Requests with an `update_mask`: https://google.aip.dev/134. */
interface MaskedUpdate {
  /** The request, with every message set that contains a field of the mask. */
  readonly request: Message;
  /** Whether the mask contains a field, or the field is not part of the resource. By proto names. */
  names(path: readonly string[]): boolean;
}

export type MessageField = DescField & { readonly fieldKind: "message" };

/** The mask of an update. */
export function maskFieldOf({ fields }: DescMessage): MessageField | undefined {
  const field = fields.find(({ name }) => name === "update_mask");
  const isOne = field?.fieldKind === "message";
  return isOne && field.message.typeName === "google.protobuf.FieldMask" ? field : undefined;
}

/** Undefined for a mask that names no field: an empty one, or `*`. */
function maskedUpdateOf(desc: DescMessage, message: Message): MaskedUpdate | undefined {
  const request = reflect(desc, message);
  const { paths } = request.get(maskFieldOf(desc) as MessageField).message as FieldMask;
  const all = paths.map((path) => parsePath(path).slice(0, 100)); // no message is deeper
  const resource = request.fields.find(
    (one) => one.fieldKind === "message" && all.some(([name]) => fieldOf(one.message, name)),
  );
  if (resource === undefined) return undefined;
  const complete = reflect(desc, clone(desc, message));
  if (request.isSet(resource)) {
    for (const path of all) setParents(complete, [resource.name, ...path.slice(0, -1)]);
  }
  const tree = treeOf(all); // a search in all paths for each missing field takes long
  return {
    request: complete.message,
    names: (path) => path[0] !== resource.name || path.length === 1 || leadsTo(path, 1, tree),
  };
}

/** By the first name of paths, the rest of these. A path ends at undefined. */
type Tree = Map<string | undefined, Tree>;

function treeOf(paths: readonly (readonly string[])[]): Tree {
  const byName = [...Map.groupBy(paths, ([name]) => name)];
  const rest = (some: typeof paths) => treeOf(some.map((path) => path.slice(1)));
  return new Map(byName.map(([name, some]) => [name, name === undefined ? new Map() : rest(some)]));
}

function leadsTo(path: readonly string[], at: number, tree: Tree | undefined): boolean {
  if (tree === undefined || tree.has(undefined)) return tree !== undefined;
  const names = new Set([path[at], "*"]);
  return names.values().some((name) => leadsTo(path, at + 1, tree.get(name)));
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
