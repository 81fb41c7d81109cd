/** Which fields of a request the path has, so that body and query must not say them again. */
import type { DescField } from "@bufbuild/protobuf";
import type { FieldPath } from "../rest/rule/field-path.ts";

export class Taken {
  /** From the message that is looked at, down. */
  readonly #paths: readonly (readonly DescField[])[];

  constructor(paths: readonly (readonly DescField[])[]) {
    this.#paths = paths;
  }

  static by(variables: readonly { readonly path: FieldPath }[]): Taken {
    return new Taken(variables.map(({ path }) => path));
  }

  /** Whether something is left of a field: not if the path has it, or another of its oneof. */
  isLeft(field: DescField): boolean {
    return this.#paths.every(([first, ...rest]) => {
      if (first === field) return rest.length > 0;
      return first?.oneof === undefined || first.oneof !== field.oneof;
    });
  }

  /** What the path has of the message in a field; undefined if nothing. */
  within(field: DescField): Taken | undefined {
    const inner = this.#paths.filter(([first, ...rest]) => first === field && rest.length > 0);
    return inner.length === 0 ? undefined : new Taken(inner.map((path) => path.slice(1)));
  }
}
