import { connect, createServer, type Socket } from "node:net";
import { listen } from "./free-port.ts";

/** How long a byte takes, one way. Each piece takes up to `jitterMs` longer. */
export interface Distance {
  readonly delayMs: number;
  readonly jitterMs?: number;
}

/** A server that connects each client to another one, for a function that relays between them. */
export async function openRelay(
  targetPort: number,
  relay: (client: Socket, target: Socket) => void,
  { host = "127.0.0.1", port = 0 }: { readonly host?: string; readonly port?: number } = {},
) {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const target = connect({ port: targetPort, host, noDelay: true });
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    relay(client, target);
  });
  const listener = await listen(server, port);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    ...{ port: listener.port, url: listener.url, cut },
    async [Symbol.asyncDispose]() {
      cut();
      await listener[Symbol.asyncDispose]();
    },
  };
}

/** For `openRelay`: passes on all bytes, over a distance that is looked up for each piece. */
export function overDistance(distance: () => Distance) {
  return (client: Socket, target: Socket) => {
    pass(client, target, distance);
    pass(target, client, distance);
  };
}

/** In order, and only as fast as the receiver takes them. */
function pass(from: Socket, to: Socket, distance: () => Distance): void {
  const underWay: { readonly dueAt: number; readonly deliver: () => void }[] = [];
  let dueAt = 0;
  const arrive = () => {
    while (underWay[0] !== undefined && underWay[0].dueAt <= performance.now()) {
      underWay.shift()?.deliver();
    }
    const [next] = underWay;
    if (next !== undefined) setTimeout(arrive, Math.ceil(next.dueAt - performance.now()));
  };
  const send = (deliver: () => void) => {
    const { delayMs, jitterMs = 0 } = distance();
    dueAt = Math.max(dueAt, performance.now() + delayMs + jitterMs * Math.random());
    if (underWay.push({ dueAt, deliver }) === 1) setTimeout(arrive, delayMs);
  };
  from.on("data", (chunk) => {
    send(() => {
      if (to.writable && !to.write(chunk)) from.pause();
    });
  });
  to.on("drain", () => from.resume());
  from.on("end", () => send(() => to.end()));
  from.on("close", () => send(() => to.destroy()));
}
