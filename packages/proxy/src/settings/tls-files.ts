import { readTlsMaterial, type TlsFiles, TlsFilesError } from "connect-gateway/server";
import { type SettingProblem, SettingsError } from "./settings-error.ts";

/** The two files of a certificate, as a group of settings has them: both, or neither. */
export type TlsPair = { readonly [K in keyof TlsFiles]: TlsFiles[K] | undefined };

export function tlsFilesOf({ certFile, keyFile }: TlsPair): TlsFiles | undefined {
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
}

/** @param prefix Of the names of the two settings: `tls` for `tlsCert` and `tlsKey`. */
export function findTlsProblems({ certFile, keyFile }: TlsPair, prefix = "tls"): SettingProblem[] {
  if ((certFile === undefined) === (keyFile === undefined)) return [];
  const setting = `${prefix}${certFile === undefined ? "Cert" : "Key"}`;
  return [{ setting, problem: "is missing: set both the certificate and its key" }];
}

/** @throws {SettingsError} if the files cannot be used, so that it is known before the start. */
export function assertTlsFiles(read: () => unknown, setting = "tlsCert"): void {
  try {
    read();
  } catch (cause) {
    if (!(cause instanceof TlsFilesError)) throw cause;
    throw new SettingsError([{ setting, problem: cause.message }], { cause });
  }
}

/** The same of the port's own. */
export function assertPortTls(files: TlsFiles | undefined): void {
  if (files !== undefined) assertTlsFiles(() => readTlsMaterial(files));
}
