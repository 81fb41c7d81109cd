/**
 * `POST /plants` as in Fastify's documentation: with a schema for the body and one for the answer.
 */
import { fastify } from "fastify";
import { announceUrl } from "./announce.ts";

interface NewPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

const text = { type: "string" } as const;

const app = fastify();
app.post<{ Body: NewPlant }>(
  "/plants",
  {
    schema: {
      body: {
        type: "object",
        required: ["id", "name"],
        additionalProperties: false,
        properties: { id: { type: "integer" }, name: text, tag: text },
      },
      response: {
        200: { type: "object", required: ["name"], properties: { name: text, tag: text } },
      },
    },
  },
  async ({ body }) => body,
);
announceUrl(await app.listen({ host: "127.0.0.1", port: 0 }));
