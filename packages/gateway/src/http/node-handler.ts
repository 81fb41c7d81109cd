import type { connectNodeAdapter } from "@connectrpc/connect-node";

/** A request listener for `node:http`, `node:https` and `node:http2` servers. */
export type NodeHandler = ReturnType<typeof connectNodeAdapter>;
