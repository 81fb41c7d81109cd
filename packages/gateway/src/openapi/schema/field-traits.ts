/** What `google.api.field_behavior`, proto2 and editions say about a field. */
import { type DescField, getOption } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";

export interface FieldTraits {
  readonly isRequired: boolean;
  /** Only in answers. */
  readonly isOutput: boolean;
  /** Only in requests. */
  readonly isInput: boolean;
  readonly isImmutable: boolean;
  /** Whether zero means "not set", so that JSON omits it. */
  readonly isImplicit: boolean;
}

export function traitsOf(field: DescField): FieldTraits {
  const behaviors = getOption(field, field_behavior);
  return {
    isRequired:
      behaviors.includes(FieldBehavior.REQUIRED) ||
      field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED,
    isOutput: behaviors.includes(FieldBehavior.OUTPUT_ONLY),
    isInput: behaviors.includes(FieldBehavior.INPUT_ONLY),
    isImmutable: behaviors.includes(FieldBehavior.IMMUTABLE),
    isImplicit: field.presence === FeatureSet_FieldPresence.IMPLICIT,
  };
}
