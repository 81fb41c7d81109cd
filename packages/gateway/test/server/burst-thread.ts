/**
 * Clients that send as much as possible at once, on a separate thread, so that they send while the
 * server is busy.
 */
import { once } from "node:events";
import http2 from "node:http2";
import { parentPort, workerData } from "node:worker_threads";

export interface Burst {
  readonly url: string;
  readonly connections: number;
  /** On each connection. */
  readonly requests: number;
}

const { url, connections, requests } = workerData as Burst;
const sessions = Array.from({ length: connections }, () =>
  http2.connect(url, { rejectUnauthorized: false }),
);

async function ask(session: http2.ClientHttp2Session): Promise<number> {
  const stream = session.request({ ":path": "/" });
  stream.resume();
  const [headers] = await once(stream, "response");
  await once(stream, "close");
  return headers[":status"];
}

await Promise.all(sessions.map(ask));
parentPort?.once("message", async () => {
  const asked = sessions.flatMap((session) => Array.from({ length: requests }, () => ask(session)));
  const statuses = await Promise.all(asked);
  for (const session of sessions) session.destroy();
  parentPort?.postMessage(statuses.filter((status) => status === 200).length);
});
parentPort?.postMessage("connected");
