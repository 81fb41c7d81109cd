import type { Mutant } from "./mutant.ts";

const strangers = "test/e2e/strangers.test.ts";
const jwts = "packages/proxy/test/auth/jwt.test.ts";
const jwtAttacks = "packages/proxy/test/auth/jwt-attacks.test.ts";
const verifier = {
  file: "packages/proxy/src/auth/token-verifier.ts",
  campaign: "packages/proxy/test/auth/token-verifier.test.ts",
} as const;

/** Breaks that would admit somebody, and the tests that must detect them. */
export const tokenMutants: readonly Mutant[] = [
  ...["rest", "connect", "grpc", "grpc-web"].map((protocol) => ({
    name: `gate: lets everybody in over ${protocol}`,
    file: "packages/proxy/src/auth/bearer.ts",
    find: "const authorization = parseAuthorization(",
    replace: `
      if (Reflect.get(context, "protocolName") === "${protocol}") {
        context.values.set(principalKey, { kind: "jwt", subject: "anybody" });
        return;
      }
      const authorization = parseAuthorization(`,
    campaign: strangers,
  })),
  {
    name: "gate: takes one of two tokens",
    file: "packages/proxy/src/auth/bearer.ts",
    find: "const credentials = /^bearer +[A-Za-z0-9._~+/-]+=*$/i;",
    replace: "const credentials = /^bearer +[A-Za-z0-9._~+/-]+=*/i;",
    campaign: "packages/proxy/test/auth/authorization.test.ts",
  },
  {
    ...verifier,
    name: "tokens: knows one by its beginning, once it was used",
    find: "const known = seen.get(token);",
    replace: "const known = [...seen].find(([whole]) => whole.startsWith(token))?.[1];",
  },
  {
    ...verifier,
    name: "tokens: remembers what was revoked meanwhile",
    find: "const seen = new Map<string, Verdict>();",
    replace: `
      const seen: Map<string, Verdict> = Reflect.get(globalThis, "seen") ?? new Map();
      Reflect.set(globalThis, "seen", seen);`,
  },
  {
    ...verifier,
    name: "tokens: remembers those of strangers, too",
    find: "if (found === undefined) return unknownToken;",
    replace: `
      if (found === undefined) {
        seen.set(token, unknownToken);
        return unknownToken;
      }`,
  },
  {
    ...verifier,
    name: "tokens: a file with a slip gives",
    find: "if (!before.has(digest)) live.delete(digest);",
    replace: "if (!before.has(digest)) continue;",
  },
  {
    ...verifier,
    name: "tokens: a flood keeps a revoked one alive",
    find: "age > waitAfterMs ||",
    replace: "",
  },
  {
    ...verifier,
    name: "tokens: a disk that hangs locks callers out",
    find: "return Promise.race([look, setTimeout(diskMsMax, undefined, { ref: false })]);",
    replace: "return look;",
  },
  {
    name: "tokens: written to the log by the start",
    file: "src/server/start.ts",
    find: "const { auth, log } = settings;",
    replace: "const { auth, log } = settings; settings.log.info(String(auth.tokens));",
    campaign: "test/e2e/gate.test.ts",
  },
  {
    name: "JWT: accepts alg none",
    file: "packages/proxy/src/auth/jwt.ts",
    find: "return (token) => (compactJws.test(token) ? verify(token) : unknownToken);",
    replace: `
      return (token) => {
        const header = Buffer.from(token.split(".")[0] ?? "", "base64url").toString();
        if (/"alg":"none"/.test(header)) {
          return { kind: "verified", principal: { kind: "jwt", subject: "anybody" } };
        }
        return compactJws.test(token) ? verify(token) : unknownToken;
      };`,
    campaign: jwtAttacks,
  },
  {
    name: "JWT: accepts alg none in capitals",
    file: "packages/proxy/src/auth/jwt.ts",
    find: "return (token) => (compactJws.test(token) ? verify(token) : unknownToken);",
    replace: `
      return (token) => {
        const header = Buffer.from(token.split(".")[0] ?? "", "base64url").toString();
        if (/"alg":"NONE"/.test(header)) {
          return { kind: "verified", principal: { kind: "jwt", subject: "anybody" } };
        }
        return compactJws.test(token) ? verify(token) : unknownToken;
      };`,
    campaign: jwtAttacks,
  },
  {
    name: "JWT: accepts a shared secret",
    file: "packages/proxy/src/auth/jwt.ts",
    find: "algorithms: [...signatureAlgorithms],",
    replace: `algorithms: [...signatureAlgorithms, "HS256"],`,
    campaign: jwtAttacks,
  },
  {
    name: "JWT: does not look at aud",
    file: "packages/proxy/src/auth/jwt.ts",
    find: `      audience,
      requiredClaims: ["exp"],`,
    replace: `      requiredClaims: ["exp"],`,
    campaign: jwts,
  },
  {
    name: "JWT: does not look at iss",
    file: "packages/proxy/src/auth/jwt.ts",
    find: `      issuer,
      audience,
      requiredClaims: ["exp"],`,
    replace: `      audience,
      requiredClaims: ["exp"],`,
    campaign: jwts,
  },
  {
    name: "JWT: does not ask for exp",
    file: "packages/proxy/src/auth/jwt.ts",
    find: `requiredClaims: ["exp"],`,
    replace: "",
    campaign: jwts,
  },
  {
    name: "JWT: does not look at exp",
    file: "packages/proxy/src/auth/jwt.ts",
    find: "currentDate: new Date(now()),",
    replace: "currentDate: new Date(0),",
    campaign: jwts,
  },
  {
    name: "key set: fetched for each unknown key",
    file: "packages/proxy/src/auth/jwks.ts",
    find: "|| now() - triedAt >= cooldownMs",
    replace: "|| now() >= 0",
    campaign: jwts,
  },
  {
    name: "key set: fetched from wherever it is sent",
    file: "packages/proxy/src/auth/jwks.ts",
    find: "await fetch(url, init)",
    replace: `await fetch(url, { ...init, redirect: "follow" })`,
    campaign: "packages/proxy/test/auth/jwks.test.ts",
  },
  {
    name: "key set: read to its end, however far that is",
    file: "packages/proxy/src/auth/jwks.ts",
    find: "if (bytes > bytesMax)",
    replace: "if (bytes < 0)",
    campaign: "packages/proxy/test/auth/jwks.test.ts",
  },
];
