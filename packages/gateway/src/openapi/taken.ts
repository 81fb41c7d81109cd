/** The request fields in the path, which body and query must not repeat. */
import type { DescField } from "@bufbuild/protobuf";

export class Taken {
  /** Relative to the current message. */
  readonly #paths: readonly (readonly DescField[])[];

  constructor(paths: readonly (readonly DescField[])[]) {
    this.#paths = paths;
  }

  /**
   * Whether something of a field is left. Not if the path has it, or another member of its oneof.
   */
  isLeft(field: DescField): boolean {
    return this.#paths.every(([first, ...rest]) => {
      if (first === field) return rest.length > 0;
      return first?.oneof === undefined || first.oneof !== field.oneof;
    });
  }

  /** The fields in the path of the message in a field; undefined if there are none. */
  within(field: DescField): Taken | undefined {
    const inner = this.#paths.filter(([first, ...rest]) => first === field && rest.length > 0);
    return inner.length === 0 ? undefined : new Taken(inner.map((path) => path.slice(1)));
  }
}
