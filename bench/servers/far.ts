/**
 * A server for streams over a distance: messages of 64 KiB without end, or read and forgotten. By
 * node:http2, with windows that no distance here fills.
 */
import http2 from "node:http2";
import { openWindows } from "../windows.ts";
import { announce } from "./announce.ts";

const message = Buffer.alloc(5 + 4 + 65_536, "x");
message.writeUIntBE(message.length - 5, 0, 5);
message.set([0x0a, 0x80, 0x80, 0x04], 5); // BytesValue.value of 64 KiB
const nothing = Buffer.alloc(5);

const server = http2.createServer({ settings: openWindows.settings, maxSessionMemory: 4000 });
server.on("session", openWindows.open);
server.on("stream", (stream: http2.ServerHttp2Stream, { ":path": path = "" }) => {
  stream.on("error", () => {});
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.resume();
  if (path.endsWith("/Watch")) {
    const write = () => {
      while (stream.writable && stream.write(message));
    };
    stream.on("drain", write);
    write();
  } else stream.on("end", () => stream.end(nothing));
});
announce(server);
