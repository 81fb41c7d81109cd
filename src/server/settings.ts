/** The settings of the server. Those shared with `connect-gateway` come from its package. */
import { resolve as resolvePath } from "node:path";
import type { CorsOptions } from "connect-gateway";
import type { Log } from "connect-gateway/logging";
import type { TlsFiles } from "connect-gateway/server";
import { authSettings, findAuthProblems, hasAuth } from "connect-gateway-kit/auth/settings";
import { createStderrLog } from "connect-gateway-kit/logging";
import * as kit from "connect-gateway-kit/settings";
import { findStoreProblem } from "./store-url.ts";

/** The prefix of tokens of `plant-store token`. */
export const tokenPrefix = "plst_";

/** All settings, in the order of the help. Groups are those of ServerOptions. */
export const schema = {
  ...kit.common.listener,
  store: kit.text("Where plants are kept: `sqlite:PATH` or `postgres://…`", {
    default: "sqlite:./data/plants.db",
    placeholder: "url",
    secret: "password",
    check: findStoreProblem,
  }),
  basePath: kit.text("Prefix of every path, RPC too, for example `/api`", {
    default: "",
    placeholder: "path",
    check: kit.matching(
      /^(\/(?!\.{1,2}(\/|$))[\w.~-]+)*$/,
      "must look like /api, without a slash at its end",
    ),
  }),
  auth: {
    ...authSettings,
    tokenFile: { ...authSettings.tokenFile, default: "./data/tokens" as string | undefined },
  },
  tls: kit.common.tls,
  limits: {
    ...kit.common.limits,
    bodyBytesMax: {
      ...kit.common.limits.bodyBytesMax,
      default: 1024 * 1024, // plants are small
      // Half of what may wait for a commit: a larger plant could never be stored.
      max: 32 * 1024 * 1024,
    },
  },
  reusePort: kit.off("`on`: several servers on one PostgreSQL share the port; only on Linux"),
  ...kit.common.log,
  ...kit.common.drain,
  ...kit.common.admin,
  health: kit.on("`off`: no `/healthz`, `/readyz` and `grpc.health.v1`"),
  reflection: kit.on("`off`: no `grpc.reflection`"),
  page: kit.on("`off`: no page at `/`, no reference at `/docs`, no `/openapi.json`"),
  mcp: kit.off("`on`: language models may create plants, at `/mcp`"),
  ...kit.common.cors,
  ...kit.common.rateLimit,
};

/** A plant has three. 1 MiB could hold half a million, which would block for 200 ms. */
const messageValuesMax = 1000;

type Values = kit.SettingsOf<typeof schema>;

/** All settings, checked, with defaults. */
export interface ServerSettings extends Omit<Values, "tls" | "limits"> {
  readonly tls: TlsFiles | undefined;
  readonly cors: CorsOptions | undefined;
  readonly limits: Values["limits"] & { readonly messageValuesMax: number };
  readonly log: Log;
}

/** Options of a caller: all are optional. */
export type ServerOptions = kit.OptionsOf<typeof schema> & { readonly log?: Log };

export const plantStore = kit.createProgram({
  name: "plant-store",
  variablePrefix: "PLANT_STORE_",
  // Variables of clients, which may be set in the same shell.
  otherVariables: ["PLANT_STORE_URL", "PLANT_STORE_TOKEN"],
  schema,
  findContradictions: (settings) => [
    ...kit.findCommonProblems(settings),
    ...findSharingProblems(settings),
    ...findAuthProblems(settings.auth),
    ...findAccessProblems(settings),
  ],
  finish: (settings): ServerSettings => ({
    ...settings,
    tls: kit.tlsFilesOf(settings.tls),
    cors: kit.corsOptions(settings.corsOrigins),
    limits: { ...settings.limits, messageValuesMax },
    log: createStderrLog(settings.logFormat),
  }),
});

export function resolveSettings({ log, ...options }: ServerOptions): ServerSettings {
  const settings = plantStore.resolve(options);
  return log === undefined ? settings : { ...settings, log };
}

/** Other systems give all connections to one process, or refuse. */
function findSharingProblems({ reusePort, store }: Values): kit.SettingProblem[] {
  const setting = "reusePort";
  if (!reusePort) return [];
  if (process.platform !== "linux") {
    return [{ setting, problem: "must be off: only Linux spreads connections over a shared port" }];
  }
  if (!/^sqlite:/i.test(store)) return [];
  const problem = "must be off unless store is PostgreSQL: one process alone serves SQLite";
  return [{ setting, problem, other: "store" }];
}

function findAccessProblems({ auth, store }: Values): kit.SettingProblem[] {
  const setting = "tokenFile";
  const [, path] = /^sqlite:(.*)$/is.exec(store) ?? [];
  const files = [path, auth.tokenFile].map((file) => file && resolvePath(file));
  if (path !== undefined && files[0] === files[1]) {
    return [{ setting, other: "store", problem: "must not be the file of store" }];
  }
  if (hasAuth(auth)) return [];
  return [{ setting, problem: "is required unless tokens or JWTs are configured" }];
}
