import http from "node:http";
import { announce } from "./announce.ts";
import { handler } from "./connect-handler.ts";

announce(http.createServer(handler));
