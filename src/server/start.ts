/** Where all parts meet. */
import { openAuthenticator } from "../auth/authenticator.ts";
import { createFirstToken, revokeFirstToken } from "../auth/first-token.ts";
import { openStore } from "../store/open.ts";
import { type Serving, serve } from "./serve.ts";
import { resolveSettings, type ServerOptions, type ServerSettings } from "./settings.ts";
import { serveWithThreads } from "./threads.ts";

/** A plant store that serves. */
export interface RunningServer {
  /** Where it is, base path included, with an address that this machine can call. */
  readonly url: string;
  readonly settings: ServerSettings;
  /** The token made by a first start, in plain text; kept nowhere else. */
  readonly firstToken: string | undefined;
  /** Resolves if the store or the threads fail for good; the server should then be closed. */
  readonly failed: Promise<Error>;
  /** Lets requests under way finish, then closes the store. Again: waits for the first. */
  close(): Promise<void>;
}

/**
 * Starts a server.
 *
 * @throws {SettingsError} {@link AuthSettingError}, {@link TokenFileError},
 * {@link StoreOpenError}, or the system's error if it cannot listen. Nothing is left open then.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const settings = resolveSettings(options);
  const failed = Promise.withResolvers<Error>();
  const { auth } = settings;
  const firstToken = await createFirstToken(auth);
  try {
    const serving =
      settings.threads === 1
        ? await serveAlone(settings, failed.resolve)
        : await serveWithThreads(settings, options, failed.resolve);
    let closed: Promise<void> | undefined;
    return {
      url: urlOf(settings, serving.port),
      settings,
      firstToken,
      failed: failed.promise,
      close: () => {
        closed ??= serving.close();
        return closed;
      },
    };
  } catch (error) {
    if (firstToken !== undefined) await revokeFirstToken(auth);
    throw error;
  }
}

async function serveAlone(
  settings: ServerSettings,
  onFailure: (error: Error) => void,
): Promise<Serving> {
  const opened: (() => void | Promise<void>)[] = [];
  try {
    const authenticator = await openAuthenticator(settings.auth, settings.log.warn);
    opened.push(authenticator.close);
    const store = await openStore(settings.store, { onFailure });
    opened.push(() => store.close());
    return await serve(settings, { authenticator, store });
  } catch (error) {
    for (const close of opened.reverse()) await close();
    throw error;
  }
}

function urlOf({ host, tls, basePath }: ServerSettings, port: number): string {
  const anyAddress: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = anyAddress[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `${tls === undefined ? "http" : "https"}://${name}:${port}${basePath}`;
}
