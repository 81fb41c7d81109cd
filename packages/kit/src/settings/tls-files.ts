import { readCa, readTlsMaterial, type TlsFiles, TlsFilesError } from "connect-gateway/server";
import { type SettingProblem, SettingsError } from "./schema.ts";

type TlsGroup = { readonly [K in keyof TlsFiles]-?: TlsFiles[K] | undefined };

export function tlsFilesOf({ certFile, keyFile, ...others }: TlsGroup): TlsFiles | undefined {
  return certFile === undefined || keyFile === undefined
    ? undefined
    : { certFile, keyFile, ...others };
}

export function findTlsProblems({ certFile, keyFile, clientCaFile }: TlsGroup): SettingProblem[] {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const setting = certFile === undefined ? "tlsCert" : "tlsKey";
    return [{ setting, problem: "is missing: set both the certificate and its key" }];
  }
  if (certFile !== undefined || clientCaFile === undefined) return [];
  const problem = "does nothing without TLS: set tlsCert and its key";
  return [{ setting: "tlsClientCa", other: "tlsCert", problem }];
}

/** @throws {SettingsError} if the files cannot be used, so that it is known before the start. */
export function assertTlsFiles(setting: string, read: () => unknown): void {
  try {
    read();
  } catch (cause) {
    if (!(cause instanceof TlsFilesError)) throw cause;
    throw new SettingsError([{ setting, problem: cause.message }], { cause });
  }
}

export function assertPortTls(files: TlsFiles | undefined): void {
  if (files === undefined) return;
  const { clientCaFile, ...pair } = files;
  assertTlsFiles("tlsCert", () => readTlsMaterial(pair));
  if (clientCaFile !== undefined) assertTlsFiles("tlsClientCa", () => readCa(clientCaFile));
}
