import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import type { createBearerGate } from "../../../src/auth/bearer.ts";
import { principalKey } from "../../../src/auth/verifier.ts";

/** A gate's result for one Authorization header: a principal, or the complete error. */
export async function callGate(gate: ReturnType<typeof createBearerGate>, authorization: string) {
  const values = createContextValues();
  try {
    await gate({ requestHeader: new Headers({ authorization }), values });
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    if (values.get(principalKey) !== undefined) throw new Error("refused, but has a principal");
    const challenge = error.metadata.get("WWW-Authenticate");
    return { code: Code[error.code], message: error.rawMessage, challenge };
  }
  const principal = values.get(principalKey);
  if (principal === undefined) throw new Error("admitted without a principal");
  return { principal };
}
