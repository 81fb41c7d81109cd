import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { createSecureContext } from "node:tls";
import { SettingsError } from "../settings/settings-error.ts";

/** Where the certificate chain and its private key are, in PEM. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** @throws {SettingsError} if a file cannot be read or the two do not belong together. */
export function readTlsMaterial({ certFile, keyFile }: TlsFiles): TlsMaterial {
  try {
    const material = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(material);
    return material;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const problem = `${certFile} cannot be used with the key ${keyFile}: ${reason}`;
    throw new SettingsError([{ setting: "tlsCert", problem }], { cause });
  }
}

/** Renewed certificates are rare; a second late is soon enough. */
const watchIntervalMs = 1000;

/**
 * Calls `onChange` when one of the files has changed and both belong together
 * again; until they do, `onError`. Polls, because certificates are renewed by
 * renames and by links that no watcher follows.
 *
 * @returns stops watching.
 */
export function watchTlsMaterial(
  files: TlsFiles,
  onChange: (material: TlsMaterial) => void,
  onError: (error: unknown) => void,
): () => void {
  function reload(): void {
    try {
      onChange(readTlsMaterial(files));
    } catch (error) {
      onError(error);
    }
  }
  const paths = [files.certFile, files.keyFile];
  for (const path of paths)
    watchFile(path, { interval: watchIntervalMs, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
}
