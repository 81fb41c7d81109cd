import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";

/** The error that a caller gets for an invalid request. */
export interface Refusal {
  readonly message: string;
  /** Field and description of each violation. */
  readonly violations: readonly (readonly [field: string, description: string])[];
}

/** The rejection in the error. Rethrows anything but INVALID_ARGUMENT. */
export function refusalFrom(error: unknown): Refusal {
  if (!(error instanceof ConnectError) || error.code !== Code.InvalidArgument) throw error;
  const violations = error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => [field, description] as const);
  return { message: error.rawMessage, violations };
}

/** The rejection that the function throws, or "accepted". */
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

/** The fields in which a call lacks or violates something, in order. */
export async function wrongFieldsOf(call: Promise<unknown>): Promise<readonly string[]> {
  const refusal = await refusalFor(call);
  return refusal === "accepted" ? [] : refusal.violations.map(([field]) => field);
}
