/** Ways to mount a Node handler, as in the documentation of each framework. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import express from "express";
import { type FastifyInstance, fastify } from "fastify";
import { fromNodeHandler, H3 } from "h3";
import { toNodeHandler } from "h3/node";
import serverless from "serverless-http";
import { type GatewayOptions, gatewayNodeAdapter, type NodeHandler } from "../../src/index.ts";
import { createCatalog } from "../catalog-server.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";

export interface Mount {
  readonly name: string;
  /** The prefix of the services' paths. */
  readonly prefix: string;
  /** Whether the server serves something else at `/beside`. */
  readonly hasBeside: boolean;
  /** Creates a server that does not listen yet. */
  open(onError: Required<GatewayOptions>["onError"]): Server | Promise<Server>;
}

export const routes: GatewayOptions["routes"] = (router) =>
  router.service(CatalogService, createCatalog());

export const mounts: readonly Mount[] = [
  {
    ...{ name: "node:http", prefix: "", hasBeside: false },
    open: (onError) => createServer(gatewayNodeAdapter({ routes, onError })),
  },
  {
    ...{ name: "Express, at the root", prefix: "", hasBeside: true },
    open(onError) {
      const app = express();
      app.get("/beside", (_request, response) => void response.send("beside"));
      app.use(gatewayNodeAdapter({ routes, onError }));
      return createServer(app);
    },
  },
  {
    ...{ name: "Express, under a path, before body parsers", prefix: "/api", hasBeside: true },
    open(onError) {
      const app = express();
      // Express removes the path from the URL that the handler gets.
      app.use("/api", gatewayNodeAdapter({ routes, onError }));
      app.use(express.json(), express.raw({ type: "*/*" }));
      app.get("/beside", (_request, response) => void response.send("beside"));
      return createServer(app);
    },
  },
  {
    ...{ name: "Express, behind the gateway", prefix: "", hasBeside: true },
    open(onError) {
      const app = express();
      app.use(express.json(), express.raw({ type: "*/*" }));
      app.get("/beside", (_request, response) => void response.send("beside"));
      return createServer(gatewayNodeAdapter({ routes, onError, fallback: app as NodeHandler }));
    },
  },
  {
    ...{ name: "Fastify, behind the gateway", prefix: "", hasBeside: true },
    async open(onError) {
      const app = fastify({
        serverFactory: (serve) =>
          createServer(gatewayNodeAdapter({ routes, onError, fallback: serve as NodeHandler })),
      });
      app.get("/beside", () => "beside");
      await app.ready();
      return app.server;
    },
  },
  {
    ...{ name: "Fastify, without content type parsers", prefix: "/api", hasBeside: true },
    async open(onError) {
      const app = fastify();
      await app.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("*", (_request, _body, done) => done(null));
        routeFastify(scope, onError);
      });
      app.get("/beside", () => "beside");
      await app.ready();
      return app.server;
    },
  },
  {
    ...{ name: "Next.js, in an API route without bodyParser", prefix: "/api", hasBeside: false },
    // Next.js calls the handler of `pages/api/[...path].ts` with an unchanged URL.
    open: (onError) =>
      createServer(gatewayNodeAdapter({ routes, onError, requestPathPrefix: "/api" })),
  },
  {
    ...{ name: "h3, by fromNodeHandler", prefix: "", hasBeside: true },
    open(onError) {
      const app = new H3()
        .get("/beside", () => "beside")
        .all("/**", fromNodeHandler(gatewayNodeAdapter({ routes, onError })));
      return createServer(toNodeHandler(app));
    },
  },
  {
    ...{ name: "serverless-http, for an HTTP API", prefix: "", hasBeside: false },
    open: (onError) => createServer(httpApi(gatewayNodeAdapter({ routes, onError }))),
  },
];

/** Mounts after something that has read the body. The cause is reported, no call is served. */
export const behindParsers: readonly Mount[] = [
  {
    ...{ name: "express.json()", prefix: "/api", hasBeside: false },
    open(onError) {
      const app = express();
      app.use(express.json());
      app.use("/api", gatewayNodeAdapter({ routes, onError }));
      return createServer(app);
    },
  },
  {
    ...{ name: "the content type parsers of Fastify", prefix: "/api", hasBeside: false },
    async open(onError) {
      const app = fastify();
      routeFastify(app, onError);
      await app.ready();
      return app.server;
    },
  },
];

function routeFastify(app: FastifyInstance, onError: Required<GatewayOptions>["onError"]): void {
  // Fastify does not change the URL.
  const handler = gatewayNodeAdapter({ routes, onError, requestPathPrefix: "/api" });
  app.all("/api/*", (request, reply) => {
    reply.hijack();
    void handler(request.raw, reply.raw);
  });
}

/** Calls a handler as an HTTP API of AWS does: by an event, with whole bodies and decoded paths. */
function httpApi(handler: NodeHandler) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const [rawPath = "", rawQueryString = ""] = (request.url ?? "").split("?");
    const event = {
      version: "2.0",
      rawPath: decodeURIComponent(rawPath),
      rawQueryString,
      headers: request.headers,
      body: (await buffer(request)).toString("base64"),
      isBase64Encoded: true,
      requestContext: { http: { method: request.method, sourceIp: "127.0.0.1" } },
    };
    const result = (await serverless(handler, { binary: true })(event, {})) as FunctionResult;
    response.writeHead(result.statusCode, result.headers);
    response.end(Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8"));
  };
}

interface FunctionResult {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}
