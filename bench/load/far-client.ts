/**
 * Streams of 64 KiB messages on one connection, and a small call beside them now and then:
 * `far-client.ts URL down|up STREAMS SECONDS`. Prints JSON.
 */
import http2 from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { median } from "../statistics.ts";
import { openWindows } from "../windows.ts";

const [url = "", direction = "down", streams = 1, seconds = 2] = process.argv.slice(2);
const message = Buffer.alloc(5 + 4 + 65_536, "x");
message.writeUIntBE(message.length - 5, 0, 5);
message.set([0x0a, 0x80, 0x80, 0x04], 5);
const nothing = Buffer.alloc(5);

const session = http2.connect(url, { settings: openWindows.settings });
await new Promise((resolve, reject) => session.once("connect", resolve).once("error", reject));
openWindows.open(session);

let bytes = 0;

function call(method: string): http2.ClientHttp2Stream {
  return session.request({
    ":method": "POST",
    ":path": `/bench.v1.StreamService/${method}`,
    "content-type": "application/grpc",
    te: "trailers",
  });
}

async function touch(): Promise<number> {
  const begun = performance.now();
  const stream = call("Touch").end(nothing).resume();
  let status: unknown;
  stream.on("trailers", (trailers) => {
    status = trailers["grpc-status"];
  });
  await new Promise((resolve, reject) => stream.once("close", resolve).once("error", reject));
  if (status !== "0") throw new Error(`a small call ended with ${status}`);
  return performance.now() - begun;
}

function open(): void {
  const fail = () => {
    throw new Error("a stream has ended");
  };
  if (direction === "down") {
    const stream = call("Watch").end(nothing);
    stream.on("data", (chunk: Buffer) => (bytes += chunk.length)).on("close", fail);
    return;
  }
  const stream = call("Take").resume().on("close", fail);
  const write = () => {
    // What has left this process counts, less what a full socket holds.
    while (stream.write(message, () => (bytes += message.length)));
  };
  stream.on("drain", write);
  write();
}

await touch();
const alone: number[] = [];
for (let i = 0; i < 5; i++) alone.push(await touch());
for (let i = 0; i < Number(streams); i++) open();
await delay(1000);
const start = { bytes, at: performance.now() };
const small: number[] = [];
while (performance.now() - start.at < Number(seconds) * 1000) {
  small.push(await touch());
  await delay(20);
}
const rate = (bytes - start.bytes) / (performance.now() - start.at) / 1000;
process.stdout.write(
  JSON.stringify({ megabytesPerSecond: rate, smallMs: median(small), aloneMs: median(alone) }),
);
process.exit();
