import type { ContextValues } from "@connectrpc/connect";
import { createRoutes } from "../../src/adapter/routes.ts";
import type { Exchange } from "../../src/http/exchange.ts";
import { resolveRestOptions } from "../../src/rest/options.ts";
import { Call } from "../../src/rpc/call.ts";
import type { Endpoint } from "../../src/rpc/endpoint.ts";
import type { Route } from "../../src/rpc/face.ts";
import { run } from "../../src/rpc/run.ts";
import { sendMessages } from "../../src/rpc/streams.ts";

const notFound: Route = {
  ...{ protocol: undefined, method: undefined, pathTemplate: undefined },
  allow: () => [],
  open: () => {
    throw new Error("nothing is served at this path");
  },
};

/** Serves an exchange with the routes of an endpoint: over RPC, unless it has a target. */
export async function serveEndpoint(
  endpoint: Endpoint,
  exchange: Exchange,
  values?: ContextValues,
): Promise<void> {
  const settings = resolveRestOptions({});
  const options = { endpoints: [endpoint], prefix: "", settings, codings: [], origins: [] };
  const { method, headers } = exchange;
  const path = exchange.path === "/" ? endpoint.rpc.requestPath : exchange.path;
  const type = headers["content-type"] as string | undefined;
  const opened = await createRoutes(options, [], notFound)(method, path, type).open(
    exchange,
    values,
  );
  const answer = opened instanceof Call ? await run(opened) : opened;
  if ("messages" in answer) await sendMessages(opened as Call, answer);
  else exchange.respond(answer);
}
