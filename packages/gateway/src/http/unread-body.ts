import type { Readable } from "node:stream";

/**
 * The error for a request whose body was already read, if it was. Reading it again would find it
 * empty, and that would look as if the client had sent nothing.
 *
 * @returns undefined for a body that nobody has begun to read, or that is empty.
 */
export function bodyAlreadyRead(
  request: Pick<Readable, "readableDidRead">,
): BodyAlreadyReadError | undefined {
  return request.readableDidRead ? new BodyAlreadyReadError() : undefined;
}

/** Not the client's fault: the server's handlers are in the wrong order. */
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
