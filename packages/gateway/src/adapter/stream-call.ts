/** A call that is no unary one: served by the handler that connect-es has for it. */
import { Code, ConnectError, type ContextValues, createContextValues } from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { type StreamOutcome, streamOutcomeKey } from "../rpc/stream-outcome.ts";
import { bodyOf } from "../http/body.ts";
import type { NodeHandler } from "../http/node-handler.ts";
import { bodyAlreadyRead } from "../http/unread-body.ts";
import type { StreamHandler } from "./routing.ts";

export async function serveStreamCall(
  serve: StreamHandler,
  node: Parameters<NodeHandler>,
  values: ContextValues | undefined,
  outcome?: StreamOutcome,
): Promise<void> {
  const request = universalRequest(node, values, outcome);
  const body = readBody(bodyOf(request), node);
  await send(await serve({ ...request, body }), node);
}

function universalRequest(
  [request, response]: Parameters<NodeHandler>,
  values: ContextValues | undefined,
  outcome: StreamOutcome | undefined,
): UniversalServerRequest {
  if (outcome === undefined) {
    return universalRequestFromNodeRequest(request, response, undefined, values);
  }
  const observed = (values ?? createContextValues()).set(streamOutcomeKey, outcome);
  const universal = universalRequestFromNodeRequest(request, response, undefined, observed);
  outcome.expect(universal.signal);
  return universal;
}

/** The body. One that is gone fails only when it is read: a call may take none. */
async function* readBody(
  body: AsyncIterable<Uint8Array>,
  [request]: Parameters<NodeHandler>,
): AsyncGenerator<Uint8Array> {
  const gone = bodyAlreadyRead(request);
  if (gone !== undefined) throw gone;
  try {
    yield* body;
  } catch (error) {
    const isLeft =
      error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";
    if (!isLeft) throw error;
    // Who leaves amid a request cancels it: connect-es hands on an error of Node's, as if we had failed.
    throw new ConnectError("the client has left", Code.Canceled, undefined, undefined, error);
  }
}

/** To HEAD the head alone, and the call behind the rest is ended. */
async function send(
  answer: UniversalServerResponse,
  [request, response]: Parameters<NodeHandler>,
): Promise<void> {
  const vary = response.getHeader("vary"); // of CORS; what is written now would replace it
  if (vary !== undefined && answer.header?.has("vary")) answer.header.append("vary", `${vary}`);
  if (request.method !== "HEAD") return await universalResponseToNodeResponse(answer, response);
  const { body, ...head } = answer;
  const iterator = body?.[Symbol.asyncIterator]();
  await iterator?.next();
  await iterator?.return?.();
  await universalResponseToNodeResponse(head, response);
}
