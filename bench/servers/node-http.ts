/** The minimum for HTTP/1.1: `node:http` reads the body and answers, nothing else. */
import http from "node:http";
import { plantJson } from "../plant.ts";
import { announce } from "./announce.ts";

/** As text: Node writes it together with the headers, which costs less than a buffer. */
const body = plantJson.toString();
const headers = { "content-type": "application/json", "content-length": plantJson.length };

const server = http.createServer((request, response) => {
  request.on("data", () => {});
  request.on("end", () => response.writeHead(200, headers).end(body));
});
announce(server);
