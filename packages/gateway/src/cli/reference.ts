import type { NodeHandler } from "../index.ts";
import type { createOpenApiDocument } from "../openapi/index.ts";

type Document = ReturnType<typeof createOpenApiDocument>;

/** The OpenAPI document of what is served by now. */
export interface Reference {
  readonly handlers: ReadonlyMap<string, NodeHandler>;
  show(document: Document): void;
}

export function createReference(): Reference {
  let body = Buffer.from("{}");
  return {
    handlers: new Map<string, NodeHandler>([
      [
        "/openapi.json",
        (_request, response) => {
          const type = { "content-type": "application/json", "content-length": body.length };
          response.writeHead(200, type);
          response.end(body);
        },
      ],
    ]),
    show(document) {
      body = Buffer.from(JSON.stringify(document));
    },
  };
}
