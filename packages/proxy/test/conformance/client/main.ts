/**
 * The client under test: reads from standard input which calls to make, and writes to standard output
 * how each has ended.
 */
import { type GrpcTransport, openGrpcTransport } from "connect-gateway/client";
import {
  type ClientCompatRequest,
  ClientCompatRequestSchema,
  ClientCompatResponseSchema,
} from "../gen/connectrpc/conformance/v1/client_compat_pb.ts";
import { readMessages, writeMessage } from "../server/delimited.ts";
import { makeCall } from "./call.ts";

const transports = new Map<string, GrpcTransport>();
const calls: Promise<void>[] = [];
for await (const request of readMessages(ClientCompatRequestSchema, process.stdin)) {
  calls.push(answer(request));
}
await Promise.all(calls);
for (const transport of transports.values()) transport.close();

async function answer(request: ClientCompatRequest): Promise<void> {
  const { testName } = request;
  const result = await makeCall(transportOf(request), request).then(
    (value) => ({ case: "response", value }) as const,
    (error: unknown) => ({ case: "error", value: { message: String(error) } }) as const,
  );
  writeMessage(ClientCompatResponseSchema, { testName, result }, process.stdout);
}

/** Calls to one server share its connection. */
function transportOf(request: ClientCompatRequest): GrpcTransport {
  const { host, port, serverTlsCert: ca, clientTlsCreds: own, messageReceiveLimit } = request;
  const key = `${host}:${port} ${messageReceiveLimit} ${own !== undefined}`;
  let transport = transports.get(key);
  if (transport === undefined) {
    const isSecure = ca.length > 0;
    const tls = {
      ca: Buffer.from(ca),
      ...(own && { cert: Buffer.from(own.cert), key: Buffer.from(own.key) }),
    };
    transport = openGrpcTransport({
      url: `${isSecure ? "https" : "http"}://${host}:${port}`,
      ...(isSecure && { tls: () => tls }),
      ...(messageReceiveLimit > 0 && { readMaxBytes: messageReceiveLimit }),
    });
    transports.set(key, transport);
  }
  return transport;
}
