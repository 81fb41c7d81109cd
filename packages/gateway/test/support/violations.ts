import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";

/** What a caller is told of a request that does not hold what it must. */
export interface Refusal {
  readonly message: string;
  /** Field and description of each violation. */
  readonly violations: readonly (readonly [field: string, description: string])[];
}

/** The refusal that the error stands for; anything but INVALID_ARGUMENT is thrown on. */
export function refusalFrom(error: unknown): Refusal {
  if (!(error instanceof ConnectError) || error.code !== Code.InvalidArgument) throw error;
  const violations = error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => [field, description] as const);
  return { message: error.rawMessage, violations };
}

/** The refusal with which the function throws, or "accepted". */
export function refusalOf(run: () => unknown): Refusal | "accepted" {
  try {
    run();
  } catch (error) {
    return refusalFrom(error);
  }
  return "accepted";
}

/** The same, for a promise. */
export async function refusalFor(promise: Promise<unknown>): Promise<Refusal | "accepted"> {
  try {
    await promise;
  } catch (error) {
    return refusalFrom(error);
  }
  return "accepted";
}
