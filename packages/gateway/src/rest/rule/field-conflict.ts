import type { DescField } from "@bufbuild/protobuf";
import { type FieldPath, leafOf } from "./field-path.ts";

/**
 * Why no request can set all the fields that a rule binds: two are the same field, or members of
 * the same oneof. A body may contain the field of a variable, because the path takes precedence.
 *
 * @returns the reason; undefined if there is none.
 */
export function findConflict(
  variables: readonly FieldPath[],
  body: "*" | DescField | undefined,
): string | undefined {
  for (const [index, path] of variables.entries()) {
    for (const other of variables.slice(0, index)) {
      if (isSame(path, other)) return `two variables are the field ${leafOf(path).name}`;
      const oneof = sharedOneof(path, other);
      if (oneof !== undefined) return `two variables are members of the oneof ${oneof}`;
    }
    if (typeof body !== "object") continue;
    if (isSame(path, [body])) return `the field ${body.name} is a variable, and the body`;
    const oneof = sharedOneof(path, [body]);
    if (oneof !== undefined) return `a variable and the body are members of the oneof ${oneof}`;
  }
  return undefined;
}

function isSame(left: FieldPath, right: FieldPath): boolean {
  return left.length === right.length && left.every((field, i) => field === right[i]);
}

/** The oneof that conflicts, at the point where the paths diverge. */
function sharedOneof(left: FieldPath, right: FieldPath): string | undefined {
  const parting = left.findIndex((field, i) => field !== right[i]);
  const oneof = left[parting]?.oneof;
  return oneof !== undefined && right[parting]?.oneof === oneof ? oneof.name : undefined;
}
