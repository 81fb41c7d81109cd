import type { Protocol } from "./protocol/protocol.ts";
import { protocols } from "./protocol/protocols.ts";
import { postgresKind, type StoreKind, sqliteKind } from "./store-place.ts";

interface ProtocolOnStore extends Protocol {
  readonly kind: StoreKind;
}

const all: readonly ProtocolOnStore[] = [
  ...protocols.map(({ name, open }) => ({ name, open, kind: sqliteKind })),
  ...protocols
    .filter(({ name }) => name === "REST over HTTP/1.1" || name === "gRPC over HTTP/2")
    .map(({ name, open }) => ({ name: `${name}, on PostgreSQL`, open, kind: postgresKind })),
];

/**
 * Every protocol on one kind of store, and every other kind with REST and gRPC: protocols do not
 * depend on the store, nor stores on the protocol. Contains only those available here.
 */
export const protocolsOnStores = all.filter(({ kind }) => !kind.isMissing);
