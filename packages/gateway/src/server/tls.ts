import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { createSecureContext } from "node:tls";
import { guarded } from "../errors/errors.ts";
import { assertOptions } from "../rpc/options.ts";

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Certificates of which one must have signed that of each client. Default: clients need none. */
  readonly clientCaFile?: string | undefined;
}

export type TlsMaterial = ReturnType<typeof readTlsMaterial>;

/** Files of TLS cannot be used; the message says why. */
export class TlsFilesError extends Error {
  override readonly name = "TlsFilesError";
}

/** @throws {TlsFilesError} for files that cannot be used; {TypeError} if none is named. */
export function readTlsMaterial(files: TlsFiles) {
  const kinds = { certFile: "string", keyFile: "string", clientCaFile: "string" } as const;
  assertOptions("tls", files, kinds, ["certFile", "keyFile"]);
  const { certFile, keyFile, clientCaFile } = files;
  const pair = explain(`${certFile} cannot be used with the key ${keyFile}`, () => {
    const material = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(material);
    // Which accepts a key of another algorithm, and every handshake would fail.
    if (new X509Certificate(material.cert).checkPrivateKey(createPrivateKey(material.key)))
      return material;
    throw new Error("the key is that of another certificate");
  });
  return { ...pair, ...(clientCaFile !== undefined && { ca: readCa(clientCaFile) }) };
}

/** @throws {TlsFilesError} if a file cannot be read, or contains no CA certificate. */
export function readCa(file: string): Buffer {
  return explain(`${file} cannot be used as a CA`, () => {
    const pem = readFileSync(file);
    const certificates = pem.toString("latin1").match(certificateForm) ?? [];
    // OpenSSL ignores invalid certificates and would then trust none.
    if (certificates.length === 0) throw new Error("it has no certificate in PEM");
    const other = certificates
      .map((text) => new X509Certificate(text))
      .find((one) => !one.ca && !one.checkIssued(one));
    if (other === undefined) return pem;
    throw new Error(`${other.subject.replaceAll("\n", ", ")} is the certificate of no CA`);
  });
}

const certificateForm = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END [^-]*-----/g;

function explain<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new TlsFilesError(`${what}: ${reason}`, { cause });
  }
}

/** The end of validity of the server's own certificate, which comes first in its chain. */
export function expiryOf({ cert }: TlsMaterial): Date {
  return new Date(new X509Certificate(cert).validTo);
}

/** Polls, because certificates are renewed by renames that no watcher follows. @returns stops watching. */
export function watchTlsMaterial(
  files: TlsFiles,
  onChange: (material: TlsMaterial) => void,
  onError: (error: unknown) => void,
): () => void {
  const reload = () => guarded(onError, () => onChange(readTlsMaterial(files)));
  const { certFile, keyFile, clientCaFile = certFile } = files;
  const paths = new Set([certFile, keyFile, clientCaFile]);
  // Certificates are rarely renewed, so a second late is soon enough.
  for (const path of paths) watchFile(path, { interval: 1000, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
}
