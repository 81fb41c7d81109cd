import type { Readable } from "node:stream";

/**
 * The error of a request whose body is gone, if it is. Whoever reads it then would find it
 * empty, and take that for what the client has sent.
 *
 * @returns undefined for a body that nobody has begun to read, or that is empty.
 */
export function bodyAlreadyRead(
  request: Pick<Readable, "readableDidRead">,
): BodyAlreadyReadError | undefined {
  return request.readableDidRead ? new BodyAlreadyReadError() : undefined;
}

/** Not the client's fault: the server is put together in the wrong order. */
export class BodyAlreadyReadError extends Error {
  override readonly name = "BodyAlreadyReadError";

  constructor() {
    super(
      "the request body was read before the gateway: mount it before body parsers, or turn them " +
        "off for its paths (express.json(), the content type parsers of Fastify, bodyParser of " +
        "an API route of Next.js)",
    );
  }
}
