import type { ClientTls } from "connect-gateway/client";
import { readCa, readTlsMaterial, type TlsFiles } from "connect-gateway/server";

export interface UpstreamTlsFiles {
  readonly caFile: string | undefined;
  /** The client's own certificate. */
  readonly client: TlsFiles | undefined;
  readonly serverName: string | undefined;
}

/** Reads the files as they are now. @throws {TlsFilesError} */
export function readUpstreamTls({ caFile, client, serverName }: UpstreamTlsFiles): ClientTls {
  return {
    ...(caFile !== undefined && { ca: readCa(caFile) }),
    ...(client !== undefined && readTlsMaterial(client)),
    serverName,
  };
}

/**
 * For each connection, what the files hold by then; while they are wrong, what they held before. It throws
 * until they were right once: without its CA, a connection would trust others.
 */
export function watchUpstreamTls(
  files: UpstreamTlsFiles,
  onError: (error: unknown) => void,
): () => ClientTls {
  let last: ClientTls | undefined;
  return () => {
    try {
      last = readUpstreamTls(files);
    } catch (error) {
      if (last === undefined) throw error;
      onError(error);
    }
    return last;
  };
}
