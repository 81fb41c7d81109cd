/** The floor of HTTP/1.1: `node:http` reads the body and answers, and does nothing else. */
import http from "node:http";
import { plantJson as body } from "../plant.ts";
import { announce } from "./announce.ts";

const headers = { "content-type": "application/json", "content-length": body.length };

const server = http.createServer((request, response) => {
  request.on("data", () => {});
  request.on("end", () => response.writeHead(200, headers).end(body));
});
announce(server);
