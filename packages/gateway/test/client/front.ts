import { connect as connectTcp, createServer, type Socket } from "node:net";
import type { GrpcTransportOptions } from "../../src/client/index.ts";
import { listen } from "../support/free-port.ts";
import { openCaller } from "./fake-server.ts";

export interface FrontOptions extends Partial<GrpcTransportOptions> {
  readonly host?: string;
  readonly port?: number;
  /** Whether the next connection is let in; the others are closed. */
  readonly isLetIn?: () => boolean;
}

/** Passes on the connections to the server behind it, at a port of 127.0.0.1. */
export async function openFront(
  behind: number,
  { host = "127.0.0.1", port = 0, isLetIn = () => true, ...options }: FrontOptions = {},
) {
  const sockets: Socket[] = [];
  const held: (() => void)[] = [];
  let isSilent = false;
  let open = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    if (!isLetIn()) {
      socket.destroy();
      return;
    }
    sockets.push(socket);
    open++;
    socket.on("close", () => open--);
    const pass = () => {
      const next = connectTcp(behind, "127.0.0.1").on("error", () => {});
      socket.pipe(next).pipe(socket);
      sockets.push(next);
    };
    if (isSilent) held.push(pass);
    else pass();
  });
  const listener = await listen(server, port, host);
  const { transport, catalog } = openCaller({ url: listener.url, ...options });
  return {
    ...{ ...listener, transport, catalog },
    /** How many were passed on. */
    get connections() {
      return sockets.length / 2;
    },
    /** Those whose client is still there. */
    get open() {
      return open;
    },
    /** Nothing comes through any more, as of a process that is stopped. */
    silence() {
      isSilent = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    /** New connections are passed on again, and those that came in the silence. */
    resume() {
      isSilent = false;
      for (const pass of held.splice(0)) pass();
    },
    async [Symbol.asyncDispose]() {
      transport.close();
      for (const socket of sockets) socket.destroy();
      await listener[Symbol.asyncDispose]();
    },
  };
}
