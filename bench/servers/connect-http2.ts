import http2 from "node:http2";
import { announce } from "./announce.ts";
import { handler } from "./connect-handler.ts";

announce(http2.createServer(handler));
