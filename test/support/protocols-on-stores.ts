import { protocols } from "./protocol/protocols.ts";
import { postgresKind, sqliteKind } from "./store-place.ts";

const onPostgres = protocols.filter(({ name }) => /^(REST over HTTP\/1.1|gRPC over)/.test(name));

/**
 * Every protocol on one kind of store, and every other kind with REST and gRPC: protocols do not
 * depend on the store, nor stores on the protocol. Contains only those available here.
 */
export const protocolsOnStores = [
  ...protocols.map((protocol) => ({ ...protocol, kind: sqliteKind })),
  ...onPostgres.map(({ name, open }) => ({
    name: `${name}, on PostgreSQL`,
    ...{ open, kind: postgresKind },
  })),
].filter(({ kind }) => !kind.isMissing);
