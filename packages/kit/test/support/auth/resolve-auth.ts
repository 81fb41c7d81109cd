import { type AuthSettings, authSettings, findAuthProblems } from "../../../src/auth/settings.ts";
import { createProgram } from "../../../src/settings/schema.ts";

export type AuthOptions = Partial<AuthSettings>;

const { resolve } = createProgram({
  ...{ name: "a-program", variablePrefix: "A_", otherVariables: [] },
  schema: { auth: authSettings },
  findContradictions: ({ auth }) => findAuthProblems(auth),
  finish: ({ auth }) => auth,
});

export function resolveAuth(auth: AuthOptions): AuthSettings {
  return resolve({ auth });
}
