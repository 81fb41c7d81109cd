import { Code, createContextValues } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createBearerGate, requirePrincipal } from "../../src/auth/bearer.ts";
import {
  orElse,
  type Principal,
  principalKey,
  type RefusalReason,
  unknownToken,
  type Verdict,
  type Verifier,
} from "../../src/auth/verifier.ts";
import { callGate } from "../support/auth/call-gate.ts";

const alice: Principal = { kind: "token", name: "alice" };

const always = (verdict: Verdict) => () => verdict;
const later = (verdict: Verdict) => async () => verdict;

const name = "plant-store";

describe("verdicts", () => {
  const verified: Verdict = { kind: "verified", principal: alice };
  const expired: Verdict = { kind: "refused", reason: "expired" };
  const unavailable: Verdict = { kind: "unavailable" };
  const mustNotBeAsked: Verifier = () => {
    throw new Error("asked");
  };
  const admitted = { principal: alice };
  const refused = { code: "Unauthenticated" };
  test.each<[what: string, verifier: Verifier, outcome: object]>([
    ["verified ends the search", orElse(always(verified), mustNotBeAsked), admitted],
    ["unknown asks the next", orElse(always(unknownToken), always(verified)), admitted],
    ["a slow unknown asks the next", orElse(later(unknownToken), always(verified)), admitted],
    ["a slow expired ends the search", orElse(later(expired), mustNotBeAsked), refused],
    ["expired ends the search", orElse(always(expired), mustNotBeAsked), refused],
    ["unavailable", always(unavailable), { code: "Unavailable", challenge: null }],
  ])("%s", async (_what, verifier, outcome) => {
    expect(await callGate(createBearerGate(verifier, name), "Bearer t")).toMatchObject(outcome);
  });

  test.each<[RefusalReason, text: string]>([
    ["unknown", "unknown or revoked, or signed with an unknown key"],
    ["expired", "expired"],
    ["bad_exp", "lacks the claim exp, or its value is malformed"],
  ])("the reason %s is in the message and the challenge", async (reason, text) => {
    const gate = createBearerGate(always({ kind: "refused", reason }), name);
    expect(await callGate(gate, "Bearer t")).toEqual({
      code: "Unauthenticated",
      message: expect.stringContaining(text),
      // The characters that RFC 6750, section 3 allows between the quotes.
      challenge: expect.stringMatching(
        /^Bearer realm="plant-store", error="invalid_token", error_description="[\x20-\x21\x23-\x5b\x5d-\x7e]+"$/,
      ),
    });
  });
});

test.each([true, false])("a call is served only if a gate verified it: %s", async (isVerified) => {
  const contextValues = createContextValues();
  if (isVerified) contextValues.set(principalKey, alice);
  const served = { message: "of the method" } as never;
  const call = async () => requirePrincipal(name)(async () => served)({ contextValues } as never);
  if (isVerified) expect(await call()).toBe(served);
  else await expect(call).rejects.toMatchObject({ code: Code.Unauthenticated });
});
