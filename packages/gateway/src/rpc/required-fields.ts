/** Enforces `google.api.field_behavior`, for every message, by reflection. */
import {
  type DescField,
  type DescMessage,
  getOption,
  isFieldSet,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { Interceptor, StreamRequest } from "@connectrpc/connect";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { badRequest, FieldViolation } from "../json/violation.ts";

type Message = MessageShape<DescMessage>;

/**
 * A server interceptor that refuses a request in which a REQUIRED field is not
 * set, at any depth: INVALID_ARGUMENT, with a violation for each such field.
 * What has no presence (a plain proto3 scalar) counts as set when it is not
 * zero; declare it `optional` where zero is a value.
 */
export const requireFields: Interceptor = (next) => (request) => {
  const input = request.method.input;
  if (!mayRequire(input)) return next(request);
  if (request.stream) return next({ ...request, message: checked(request, input) });
  assertRequiredFields(input, request.message);
  return next(request);
};

async function* checked(request: StreamRequest, input: DescMessage) {
  for await (const message of request.message) {
    assertRequiredFields(input, message);
    yield message;
  }
}

function assertRequiredFields(desc: DescMessage, message: Message): void {
  // Almost every message is complete, and that is told without a list of what is not.
  if (isComplete(desc, message)) return;
  throw badRequest([...missingFields(reflect(desc, message))]);
}

function isComplete(desc: DescMessage, message: Message): boolean {
  for (const { field, required, held } of checksOf(desc)) {
    if (!isFieldSet(message, field)) {
      if (required) return false;
    } else if (held !== undefined) {
      for (const one of heldMessages(message, field)) if (!isComplete(held, one)) return false;
    }
  }
  return true;
}

/** The messages that a field holds which is set. */
function heldMessages(message: Message, field: DescField): readonly Message[] {
  const holder = message as unknown as Record<string, unknown>;
  const oneof = field.oneof && (holder[field.oneof.localName] as { value: unknown });
  const value = oneof === undefined ? holder[field.localName] : oneof.value;
  switch (field.fieldKind) {
    case "list":
      return value as Message[];
    case "map":
      return Object.values(value as Record<string, Message>);
    default:
      return [value as Message];
  }
}

function* missingFields(message: ReflectMessage): Generator<FieldViolation> {
  for (const field of message.fields) {
    if (!isFieldSet(message.message, field)) {
      if (isRequired(field)) yield new FieldViolation(field.name, "is required");
      continue;
    }
    for (const [name, child] of childMessages(message, field)) {
      for (const violation of missingFields(child)) yield violation.within(name);
    }
  }
}

/** The messages that a field holds, each with its path from the message around it. */
function* childMessages(
  message: ReflectMessage,
  field: DescField,
): Generator<[name: string, child: ReflectMessage]> {
  if (field.message === undefined || !mayRequire(field.message)) return;
  if (field.fieldKind === "message") {
    yield [field.name, message.get(field)];
  } else if (field.fieldKind === "list") {
    let i = 0;
    for (const item of message.get(field)) yield [`${field.name}[${i++}]`, item as ReflectMessage];
  } else if (field.fieldKind === "map") {
    for (const [key, value] of message.get(field)) {
      yield [`${field.name}["${key}"]`, value as ReflectMessage];
    }
  }
}

function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/** A field to look at. */
interface Check {
  readonly field: DescField;
  readonly required: boolean;
  /** What it holds, where that may have required fields in turn. */
  readonly held: DescMessage | undefined;
}

const checksByMessage = new WeakMap<DescMessage, readonly Check[]>();

function checksOf(desc: DescMessage): readonly Check[] {
  const known = checksByMessage.get(desc);
  if (known !== undefined) return known;
  const checks = desc.fields
    .map((field) => {
      const held = field.message && mayRequire(field.message) ? field.message : undefined;
      return { field, required: isRequired(field), held };
    })
    .filter(({ required, held }) => required || held !== undefined);
  checksByMessage.set(desc, checks);
  return checks;
}

const mayRequireByMessage = new WeakMap<DescMessage, boolean>();

/** Whether the message, or one that it may hold, has a required field. */
function mayRequire(desc: DescMessage): boolean {
  const known = mayRequireByMessage.get(desc);
  if (known !== undefined) return known;
  const found = searchRequired(desc, new Set());
  mayRequireByMessage.set(desc, found);
  return found;
}

function searchRequired(desc: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  return desc.fields.some(
    (field) =>
      isRequired(field) || (field.message !== undefined && searchRequired(field.message, seen)),
  );
}
