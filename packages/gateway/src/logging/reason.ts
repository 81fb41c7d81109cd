import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { type BadRequest, BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { memoized } from "../codec/decode.ts";
import { codeNameOf } from "../rpc/call-names.ts";
import { messagesIn } from "../rpc/required-fields.ts";
import type { Refusal } from "../server/refusal.ts";

/** Messages quote requests, so clients can make them long. */
const reasonCharactersMax = 200;

/**
 * Why a client got an error, in the words of its answer, with nothing of a body: no name that only
 * the client knows, no text after a quotation mark, and nothing of another service's message.
 */
export function reasonOf(error: ConnectError, method?: DescMethod): string {
  // A proxy's own error has that of its upstream as its cause.
  const isForeign = [error, error.cause].some(
    (one) => one instanceof ConnectError && one.isWireError,
  );
  if (isForeign) return "another service answered with this error";
  const violations = error.details.flatMap((detail) => {
    if (!("desc" in detail) || detail.desc.typeName !== BadRequestSchema.typeName) return [];
    return (detail.value as Partial<BadRequest>).fieldViolations ?? [];
  });
  const subjects = violations.map(({ field }) => subjectOf(field, method?.input));
  const text = subjects.includes(unknownField)
    ? violations.map(({ description }, i) => `${subjects[i]} ${description}`).join("; ")
    : error.rawMessage;
  return text.replace(quoted, "…").slice(0, reasonCharactersMax);
}

const unknownField = "a field";
/** Matches quotations of the request: a quotation mark, or the value of a header. */
const quoted = /(?:(?<!\w)["'`“„«]|(?<=\bvalue: )).*/s;

/** The log entry of a request that was rejected before it became a call; undefined if it got no answer. */
export function describeRefusal({ error, status, isCall, peerAddress }: Refusal) {
  if (error === undefined || isCall) return undefined;
  const { code } = error;
  return { code: codeNameOf(code), status, reason: reasonOf(error), peer: peerAddress };
}

function subjectOf(path: string, message: DescMessage | undefined): string {
  if (path === "") return "the request";
  const name = path.replaceAll(indexOrKey, "").replace(/.*\./s, "");
  return message !== undefined && namesIn(message).has(name) ? name : unknownField;
}

/** Of a list or a map. A key without quotation marks is part of a name. */
const indexOrKey = /\[(?:\d{1,7}|"(?:[^"\\]|\\.)*")\]/g;

const namesIn = memoized((message: DescMessage): ReadonlySet<string> => {
  const names = new Set<string>();
  for (const { fields, oneofs } of messagesIn([message])) {
    for (const { name, jsonName } of fields) names.add(name).add(jsonName);
    for (const { name } of oneofs) names.add(name);
  }
  return names;
});
