/** The servers to measure. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildPeer, type PeerName, peerPrograms } from "./peers/build.ts";
import { createPostgresStore } from "./postgres.ts";
import type { Program, ProgramStore, Start } from "./program.ts";
import { token } from "./requests.ts";
import { countStoredPlants, fillStore } from "./sqlite-store.ts";

function peer(file: string, settings: string): Program {
  const path = fileURLToPath(new URL(`servers/${file}`, import.meta.url));
  return { settings, open: () => ({ args: [path] }) };
}

const main = fileURLToPath(new URL("../dist/src/cli/main.js", import.meta.url));

export const nodeHttp: Program = peer("node-http.ts", "reads the body, sends a fixed answer");
export const nodeHttp2: Program = peer("node-http2.ts", "reads the body, sends a fixed answer");
export const fastify: Program = peer(
  "fastify.ts",
  "schemas for request and answer; no log, no authentication, no store",
);
export const grpcJs: Program = peer("grpc-js.ts", "proto-loader; no authentication, no store");
export const connectHttp1: Program = peer(
  "connect-http1.ts",
  "stock adapter on node:http; no authentication, no store",
);
export const connectHttp2: Program = peer(
  "connect-http2.ts",
  "stock adapter on node:http2; no authentication, no store",
);

export const gateway: Program = peer(
  "mcp.ts",
  "connect-gateway on node:http; no authentication, no store",
);

export const fastifyDurable: Program = {
  settings: "schemas, token check, a durable SQLite file in the thread of HTTP",
  isDurable: true,
  open(folder) {
    const file = join(folder, "plants.db");
    const path = fileURLToPath(new URL("servers/fastify-durable.ts", import.meta.url));
    return { args: [path, file], env: { PEER_TOKEN: token }, store: sqliteStore(file) };
  },
};
export const axumAndTonic: Program = builtPeer(
  "rust",
  "axum and tonic on one port; token check, a durable SQLite file",
);
export const grpcGateway: Program = builtPeer(
  "go",
  "grpc-gateway before grpc-go, on two ports; token check, a durable SQLite file",
  "rest",
);
export const grpcGo: Program = builtPeer(
  "go",
  "grpc-go on its own port; token check, a durable SQLite file",
  "grpc",
);

export const plantStore: Program = {
  settings: "as published, default settings: token check, all limits, a durable SQLite file",
  isDurable: true,
  open(folder) {
    const file = join(folder, "plants.db");
    return { ...serve(folder, `sqlite:${file}`), store: sqliteStore(file) };
  },
};

export const plantStoreOnPostgres: Program = {
  settings: "as published, default settings; PostgreSQL on the same machine",
  async open(folder) {
    const store = await createPostgresStore();
    return { ...serve(folder, store.url), store };
  },
};

/** grpc-go that checks the token and stores nothing. */
export const grpcGoAlone: Start = {
  command: peerPrograms.go,
  args: ["-", "grpc"],
  env: { PEER_TOKEN: token },
};

/** Serves REST before a gRPC server at a URL, as a process of its own. */
export interface Front {
  readonly name: string;
  readonly before: (url: string) => Start;
}

export const proxyMain: string = fileURLToPath(
  new URL("../packages/proxy/dist/src/cli/main.js", import.meta.url),
);
const descriptors = fileURLToPath(new URL("../gen/plantstore.binpb", import.meta.url));

export const fronts: readonly Front[] = [
  {
    name: "connect-gateway",
    before: (url) => ({
      args: [proxyMain, "--port", "0", "--upstream", url, "--descriptors", descriptors],
    }),
  },
  { name: "grpc-gateway", before: (url) => goFront(url, "gateway") },
  { name: "vanguard-go", before: (url) => goFront(url, "vanguard") },
];

function goFront(url: string, kind: string): Start {
  return { command: peerPrograms.go, args: [new URL(url).host, kind] };
}

/** A peer in another language, which takes the path of its database. */
function builtPeer(name: PeerName, settings: string, ...args: readonly string[]): Program {
  return {
    settings,
    isDurable: true,
    build: () => buildPeer(name),
    open(folder) {
      const file = join(folder, "plants.db");
      return {
        command: peerPrograms[name],
        args: [file, ...args],
        env: { PEER_TOKEN: token },
        store: sqliteStore(file),
      };
    },
  };
}

function sqliteStore(file: string): ProgramStore {
  return {
    countPlants: () => countStoredPlants(file),
    fill: (plants) => fillStore(file, plants),
  };
}

/** plant-store as published, with only these settings. */
export function serve(folder: string, store: string, ...flags: readonly string[]): Start {
  const files = ["--store", store, "--token-file", join(folder, "tokens")];
  return {
    args: [main, "serve", "--port", "0", ...files, ...flags],
    env: { PLANT_STORE_TOKENS: token },
  };
}

/** plant-store without coalescing: each request is its own statement and commit. */
export function serveOneByOne(store: string): Start {
  return { args: [fileURLToPath(new URL("servers/one-by-one.ts", import.meta.url)), store] };
}
