import { readTlsMaterial, type TlsFiles, TlsFilesError } from "connect-gateway/server";
import { SettingsError } from "./settings-error.ts";

/** @throws {SettingsError} if the files cannot be used. */
export function assertTlsFiles(files: TlsFiles): void {
  try {
    readTlsMaterial(files);
  } catch (cause) {
    if (!(cause instanceof TlsFilesError)) throw cause;
    throw new SettingsError([{ setting: "tlsCert", problem: cause.message }], { cause });
  }
}
