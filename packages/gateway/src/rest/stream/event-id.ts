import { ScalarType } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { Message } from "../../rpc/wire.ts";
import type { Route } from "../routing/route.ts";

/**
 * The id of a server-sent event: the value of the field that the options name. A browser that
 * connects again sends the last one as `Last-Event-ID`.
 *
 * @returns undefined if the field is not there or not set, or if its text cannot be an id.
 */
export function eventId(
  { settings, spec }: Pick<Route, "settings" | "spec">,
  message: Message,
): string | undefined {
  if (settings.eventIdField === "") return undefined;
  const { output } = spec.method;
  const field = output.fields.find(({ name }) => name === settings.eventIdField);
  if (field?.fieldKind !== "scalar" || field.scalar === ScalarType.BYTES) return undefined;
  const reflected = reflect(output, message);
  const id = reflected.isSet(field) ? String(reflected.get(field)) : "";
  return /^[^\0\r\n]+$/.test(id) ? id : undefined;
}
