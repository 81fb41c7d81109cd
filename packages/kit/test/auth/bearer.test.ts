import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  Code,
  ConnectError,
  createClient,
  createContextValues,
  createRouterTransport,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createBearerGate, requirePrincipal } from "../../src/auth/bearer.ts";
import { digestToken, mintToken } from "../../src/auth/token-file.ts";
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
import { createStreamingService } from "../support/auth/streaming-service.ts";

const alice: Principal = { kind: "token", name: "alice" };
const token = mintToken("plst_");

function opaque(...known: readonly string[]): Verifier {
  return (token) => (known.includes(token) ? { kind: "verified", principal: alice } : unknownToken);
}

function always(verdict: Verdict): Verifier {
  return () => verdict;
}

function later(verdict: Verdict): Verifier {
  return async () => verdict;
}

const name = "plant-store";
const realm = `Bearer realm="${name}"`;

const service = createStreamingService();

function bearerToken(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("Authorization", `Bearer ${token}`);
    return next(request);
  };
}

describe("the gate", () => {
  const gate = createBearerGate(opaque(token, mintToken("plst_")), name);

  test("accepts a known token and stores its principal", async () => {
    expect(await callGate(gate, `Bearer ${token}`)).toEqual({ principal: alice });
    expect(await callGate(gate, `bearer  ${token}`)).toEqual({ principal: alice });
  });

  const strangers: readonly [what: string, header: string | undefined][] = [
    ["no header", undefined],
    ["an empty header", ""],
    ["another scheme", "Basic YTpi"],
    ["the token without its scheme", token],
  ];
  test.each(strangers)("challenges %s without an error code", async (_what, header) => {
    expect(await callGate(gate, header)).toEqual({
      code: "Unauthenticated",
      message: expect.stringContaining("Authorization: Bearer"),
      challenge: realm,
    });
  });

  const wrong: readonly [what: string, sent: string][] = [
    ["another token", mintToken("plst_")],
    ["the first character", token.slice(0, 1)],
    ["the prefix of all tokens", "plst_"],
    ["half of the token", token.slice(0, token.length / 2)],
    ["the token without its last character", token.slice(0, -1)],
    ["the token without its first character", token.slice(1)],
    ["the token with one more character", `${token}A`],
    ["the token with padding", `${token}=`],
    ["the token twice", token + token],
    ["the token in upper case", token.toUpperCase()],
    ["the token's digest in hex", digestToken(token).toString("hex")],
    ["the token's digest in base64url", digestToken(token).toString("base64url")],
    ["a name", "alice"],
  ];
  test.each(wrong)("rejects %s", async (_what, sent) => {
    expect(await callGate(gate, `Bearer ${sent}`)).toEqual({
      code: "Unauthenticated",
      message: "the bearer token is unknown or revoked, or signed with an unknown key",
      challenge: `${realm}, error="invalid_token", error_description="the bearer token is unknown or revoked, or signed with an unknown key"`,
    });
  });

  // Titles are printed, so they contain no real token.
  const malformed: readonly [what: string, header: string][] = [
    ["two tokens", `Bearer ${token} ${token}`],
    ["two headers that were joined", `Bearer ${token},Bearer ${token}`],
  ];
  test.each(malformed)("rejects %s as malformed", async (_what, header) => {
    expect(await callGate(gate, header)).toEqual({
      code: "Unauthenticated",
      message: "the bearer token is malformed",
      challenge: `${realm}, error="invalid_token", error_description="the bearer token is malformed"`,
    });
  });

  test("rejects an empty token as empty", async () => {
    expect(await callGate(gate, "Bearer ")).toMatchObject({ message: "the bearer token is empty" });
  });

  test("reads no header but Authorization", async () => {
    const requestHeader = new Headers({
      "Proxy-Authorization": `Bearer ${token}`,
      Cookie: `access_token=${token}`,
      "X-Access-Token": token,
    });
    const context = { requestHeader, values: createContextValues() };
    expect(() => gate(context)).toThrow(ConnectError);
  });

  test("is synchronous if its verifier is", () => {
    const requestHeader = new Headers({ Authorization: `Bearer ${token}` });
    const values = createContextValues();
    expect(gate({ requestHeader, values })).toBeUndefined();
    expect(values.get(principalKey)).toEqual(alice);
  });
});

describe("verdicts", () => {
  const verified: Verdict = { kind: "verified", principal: alice };
  const expired: Verdict = { kind: "refused", reason: "expired" };
  const unavailable: Verdict = { kind: "unavailable" };
  const mustNotBeAsked: Verifier = () => {
    throw new Error("asked");
  };
  const admitted = { principal: alice };
  const refused = { code: "Unauthenticated" };
  const rows: readonly [what: string, verifier: Verifier, outcome: object][] = [
    ["verified ends the search", orElse(always(verified), mustNotBeAsked), admitted],
    ["unknown asks the next", orElse(always(unknownToken), always(verified)), admitted],
    ["unknown asks a slow next", orElse(always(unknownToken), later(verified)), admitted],
    ["a slow unknown asks the next", orElse(later(unknownToken), always(verified)), admitted],
    ["a slow unknown asks a slow next", orElse(later(unknownToken), later(verified)), admitted],
    ["expired ends the search", orElse(always(expired), mustNotBeAsked), refused],
    ["a slow expired ends the search", orElse(later(expired), mustNotBeAsked), refused],
    ["unknown to all", orElse(always(unknownToken), later(unknownToken)), refused],
    ["unavailable", always(unavailable), { code: "Unavailable", challenge: null }],
    ["slow unavailable", later(unavailable), { code: "Unavailable", challenge: null }],
  ];
  test.each(rows)("%s", async (_what, verifier, outcome) => {
    expect(await callGate(createBearerGate(verifier, name), "Bearer t")).toMatchObject(outcome);
  });

  const reasons: readonly [RefusalReason, text: string][] = [
    ["unknown", "unknown or revoked"],
    ["expired", "expired"],
    ["not_yet_valid", "not valid yet"],
    ["wrong_issuer", "(iss)"],
    ["wrong_audience", "(aud)"],
    ["wrong_type", "(typ)"],
    ["bad_exp", "lacks the claim exp, or its value is malformed"],
  ];
  test.each(reasons)("the reason %s is in the message and the challenge", async (reason, text) => {
    const gate = createBearerGate(always({ kind: "refused", reason }), name);
    const outcome = await callGate(gate, "Bearer t");
    expect(outcome).toEqual({
      code: "Unauthenticated",
      message: expect.stringContaining(text),
      // The characters that RFC 6750, section 3 allows between the quotes.
      challenge: expect.stringMatching(
        /^Bearer realm="plant-store", error="invalid_token", error_description="[\x20-\x21\x23-\x5b\x5d-\x7e]+"$/,
      ),
    });
  });
});

describe("a call, through a router", () => {
  let seen: Principal | undefined;

  function streams(interceptors: Interceptor[], gated = true): Transport {
    const requestGate = createBearerGate(opaque(token), name);
    return createRouterTransport(
      (router) =>
        router.service(service, {
          unary(_request, context) {
            seen = context.values.get(principalKey);
            return {};
          },
        }),
      {
        router: { interceptors: [requirePrincipal(name)], ...(gated && { requestGate }) },
        transport: { interceptors },
      },
    );
  }

  async function call(transport: Transport): Promise<ConnectError | undefined> {
    seen = undefined;
    try {
      await createClient(service, transport).unary({});
      return undefined;
    } catch (error) {
      return ConnectError.from(error);
    }
  }

  test("with the token reaches the implementation, with its principal", async () => {
    expect(await call(streams([bearerToken(token)]))).toBeUndefined();
    expect(seen).toEqual(alice);
  });

  test("with another token does not, and returns the challenge to the client", async () => {
    const error = await call(streams([bearerToken(mintToken("plst_"))]));
    expect(error?.code).toBe(Code.Unauthenticated);
    expect(error?.metadata.get("WWW-Authenticate")).toContain('error="invalid_token"');
    expect(seen).toBeUndefined();
  });

  test("that bypasses the gate is rejected by the interceptor, even with the token", async () => {
    const error = await call(streams([bearerToken(token)], false));
    expect(error?.code).toBe(Code.Unauthenticated);
    expect(error?.metadata.get("WWW-Authenticate")).toBe(realm);
    expect(seen).toBeUndefined();
  });
});

describe("requirePrincipal", () => {
  const empty = create(EmptySchema);

  /** The implementations that ran. */
  async function callAll(admit: boolean): Promise<{ ran: string[]; codes: string[] }> {
    const ran: string[] = [];
    const codes: string[] = [];
    const requestGate = createBearerGate(always({ kind: "verified", principal: alice }), name);
    const transport = createRouterTransport(
      (router) =>
        router.service(service, {
          unary: () => run("unary"),
          client: async () => run("client"),
          server: () => runStream("server"),
          bidi: () => runStream("bidi"),
        }),
      {
        router: { interceptors: [requirePrincipal(name)], ...(admit && { requestGate }) },
        transport: { interceptors: [bearerToken("t")] },
      },
    );
    const { unary, server, client, bidi } = service.method;
    await attempt(() => transport.unary(unary, undefined, undefined, undefined, empty));
    for (const method of [server, client, bidi]) {
      await attempt(async () => {
        const answer = await transport.stream(method, undefined, undefined, undefined, one());
        for await (const _ of answer.message);
      });
    }
    return { ran, codes };

    async function attempt(call: () => Promise<unknown>) {
      try {
        await call();
      } catch (error) {
        codes.push(Code[ConnectError.from(error).code]);
      }
    }
    async function* one() {
      yield empty;
    }
    function run(name: string) {
      ran.push(name);
      return empty;
    }
    async function* runStream(name: string) {
      yield run(name);
    }
  }

  test("accepts calls of every kind that a gate has verified", async () => {
    expect(await callAll(true)).toEqual({ ran: ["unary", "server", "client", "bidi"], codes: [] });
  });

  test("rejects calls of every kind that no gate has verified", async () => {
    expect(await callAll(false)).toEqual({
      ran: [],
      codes: Array.from({ length: 4 }, () => "Unauthenticated"),
    });
  });
});
