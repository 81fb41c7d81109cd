import type { UpdateMask } from "./update-mask.ts";

const json = ["application/json"];

/** RFC 7396. Its null clears a field: only a mask has a way to say that. */
export const mergePatchType = "application/merge-patch+json";

const patches = [...json, mergePatchType];

/** The media types that a body of JSON may have. */
export function bodyTypesOf(updateMask: UpdateMask | undefined): readonly string[] {
  return updateMask === undefined ? json : patches;
}
