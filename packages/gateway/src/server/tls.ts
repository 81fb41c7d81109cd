import { X509Certificate } from "node:crypto";
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { createSecureContext } from "node:tls";

/** The files of the certificate chain and its private key, in PEM. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A certificate and key cannot be used; the message says why. */
export class TlsFilesError extends Error {
  override readonly name = "TlsFilesError";
}

/** @throws {TlsFilesError} if a file cannot be read or the two do not belong together. */
export function readTlsMaterial({ certFile, keyFile }: TlsFiles): TlsMaterial {
  try {
    const material = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(material);
    return material;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new TlsFilesError(`${certFile} cannot be used with the key ${keyFile}: ${reason}`, {
      cause,
    });
  }
}

/** The end of validity of the server's own certificate, which comes first in its chain. */
export function expiryOf({ cert }: TlsMaterial): Date {
  return new Date(new X509Certificate(cert).validTo);
}

/** Certificates are rarely renewed, so a second late is soon enough. */
const watchIntervalMs = 1000;

/**
 * Calls `onChange` when a file has changed and both belong together, `onError` while they do not.
 * Polls, because certificates are renewed by renames and links that no watcher follows.
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
