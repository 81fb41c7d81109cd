/** Answers to what is refused before any part of the gateway sees it. */
import { STATUS_CODES } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { Code } from "@connectrpc/connect";
import type { NodeHandler } from "../../gateway/index.ts";
import { errorBody } from "../error-body.ts";

interface Refusal {
  readonly status: number;
  readonly code: Code;
  readonly message: string;
  readonly header?: Readonly<Record<string, string>>;
}

const refusals = {
  malformed: {
    status: 400,
    code: Code.InvalidArgument,
    message: "the request is not valid HTTP/1.1",
  },
  tunnel: {
    status: 405,
    code: Code.Unimplemented,
    message: "the method must be POST",
    header: { allow: "POST" },
  },
  late: {
    status: 408,
    code: Code.DeadlineExceeded,
    message: "the request took too long to arrive",
  },
  expectation: {
    status: 417,
    code: Code.InvalidArgument,
    message: "Expect must be 100-continue",
  },
  oversized: {
    status: 431,
    code: Code.ResourceExhausted,
    message: "the request headers are too large",
  },
} satisfies Record<string, Refusal>;

export type RefusalKind = keyof typeof refusals;

/** Told of each refusal. */
export type OnRefusal = (kind: RefusalKind) => void;

/** Refuses where there is a response to write to. */
export function refuse(response: Parameters<NodeHandler>[1], kind: RefusalKind): void {
  const { status, header, body } = render(refusals[kind]);
  response.writeHead(status, header);
  response.end(body);
}

/** Refuses where there is only the stream of an HTTP/2 connection. */
export function refuseOnStream(stream: ServerHttp2Stream, kind: RefusalKind): void {
  const { status, header, body } = render(refusals[kind]);
  stream.respond({ ":status": status, ...header });
  stream.end(body);
}

/** Refuses where there is only the socket of an HTTP/1.1 connection, and ends that. */
export function refuseOnSocket(socket: Duplex, kind: RefusalKind): void {
  const { status, header, body } = render(refusals[kind]);
  const lines = Object.entries({ ...header, connection: "close" });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`, () =>
    socket.destroy(),
  );
}

function render({ status, code, message, header }: Refusal) {
  const body = JSON.stringify(errorBody(code, message));
  const length = String(Buffer.byteLength(body));
  return {
    status,
    header: { "content-type": "application/json", "content-length": length, ...header },
    body,
  };
}
