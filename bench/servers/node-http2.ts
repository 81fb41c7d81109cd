/** The minimum for gRPC: `node:http2` reads the body and sends a fixed answer, nothing else. */
import http2, { type ServerHttp2Stream } from "node:http2";
import { answers } from "../requests.ts";
import { announce } from "./announce.ts";

const headers = { ":status": 200, "content-type": "application/grpc+proto" };
const trailers = { "grpc-status": "0" };

const server = http2.createServer();
server.on("stream", (stream: ServerHttp2Stream) => {
  stream.on("data", () => {});
  stream.on("end", () => {
    stream.respond(headers, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(answers.grpc);
  });
});
announce(server);
