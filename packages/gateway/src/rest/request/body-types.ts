import type { UpdateMask } from "./update-mask.ts";

const json = ["application/json"];

/** RFC 7396. null clears a field, which only a mask can express. */
export const mergePatchType = "application/merge-patch+json";

const patches = [...json, mergePatchType];

/** The media types accepted for a JSON body. */
export function bodyTypesOf(updateMask: UpdateMask | undefined): readonly string[] {
  return updateMask === undefined ? json : patches;
}
