/** Starts a server and connects its parts. */
import { existsSync } from "node:fs";
import type { DescMethod } from "@bufbuild/protobuf";
import { createFirstToken, revokeFirstToken } from "connect-gateway-kit/auth/authenticator";
import { type StartedProgram, schemeOf, startProgram } from "connect-gateway-kit/program";
import { localUrl } from "connect-gateway-kit/settings";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import { openStore } from "../store/open.ts";
import { reportObstacles, reportUnreachable } from "./obstacles.ts";
import {
  resolveSettings,
  type ServerOptions,
  type ServerSettings,
  tokenPrefix,
} from "./settings.ts";
import { parseStoreUrl } from "./store-url.ts";
import { version } from "./version.ts";

export interface RunningServer extends Pick<StartedProgram, "close" | "metricsUrl"> {
  /** Its address with the base path, for calls from this machine. */
  readonly url: string;
  readonly settings: ServerSettings;
  readonly isNewStore: boolean;
  /** The token created by a first start, in plain text. It is stored nowhere else. */
  readonly firstToken: string | undefined;
  /** Resolves if the store fails permanently. Close the server then. */
  readonly failed: Promise<Error>;
  /** Its `close` finishes requests in flight, then closes the store, then the metrics. */
  readonly program: StartedProgram;
}

export interface StartOptions extends ServerOptions {
  /** Whether to create a token if there is no way to authenticate. Default: true. */
  readonly createsFirstToken?: boolean;
}

/**
 * Starts a server.
 * @throws {SettingsError} {@link TokenFileError}, {@link StoreOpenError}, or the system's error
 * if it cannot listen. Nothing is left open then.
 */
export async function startServer(given: StartOptions = {}): Promise<RunningServer> {
  const { createsFirstToken = true, ...options } = given;
  const settings = resolveSettings(options);
  const firstToken = createsFirstToken
    ? await createFirstToken(settings.auth, tokenPrefix)
    : undefined;
  try {
    return { ...(await start(settings)), settings, firstToken };
  } catch (error) {
    if (firstToken !== undefined) await revokeFirstToken(settings.auth);
    throw error;
  }
}

async function start(settings: ServerSettings) {
  const { log, host, basePath } = settings;
  const program = await openProgram(settings);
  try {
    const { metrics } = program;
    const failed = Promise.withResolvers<Error>();
    // Loaded only if metrics are on.
    const commits =
      metrics && (await import("./commit-metrics.ts")).createCommitMetrics(metrics.registry);
    const at = parseStoreUrl(settings.store);
    const isNewStore = at.engine === "sqlite" && !existsSync(at.path);
    const opening = openStore(at, {
      onFailure: failed.resolve,
      onObstacle: reportObstacles(log),
      onUnreachable: reportUnreachable(log, commits),
      onNotice: log.warn,
      observer: commits,
    });
    program.defer(() => opening.catch(() => undefined).then((store) => store?.close()));
    // The store opens asynchronously; most of the code is loaded meanwhile.
    const [store, { serve }] = await Promise.all([opening, import("./serve.ts")]);
    const port = await serve(program, settings, store);
    const url = `${localUrl(schemeOf(settings), host, port)}${basePath}`;
    const { metricsUrl, close } = program;
    return { url, metricsUrl, close, program, isNewStore, failed: failed.promise };
  } catch (error) {
    await program.close();
    throw error;
  }
}

/** What the server has beside its store and its services. */
export function openProgram(settings: ServerSettings): Promise<StartedProgram> {
  const naming = {
    prefix: "plant_store",
    nameOf: ({ parent, name }: DescMethod) => (parent === PlantService ? name : undefined),
  };
  return startProgram({ name: "plant-store", version, settings, log: settings.log, naming });
}
