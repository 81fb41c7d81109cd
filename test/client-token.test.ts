import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { PlantService } from "../gen/plantstore/v1/plant_service_pb.ts";
import { bearerToken, type TokenSource } from "../src/client-token.ts";

/** A client whose calls all succeed, and the Authorization headers that arrived. */
function createProbe(source: TokenSource) {
  const sent: (string | null)[] = [];
  const transport = createRouterTransport(
    ({ service }) =>
      service(PlantService, {
        createPlant(_request, context) {
          sent.push(context.requestHeader.get("Authorization"));
          return {};
        },
      }),
    { transport: { interceptors: [bearerToken(source)] } },
  );
  return { sent, client: createClient(PlantService, transport) };
}

test.each<[what: string, make: (next: () => string) => TokenSource, sent: string[]]>([
  ["a string", () => "secret", ["Bearer secret", "Bearer secret"]],
  ["a function", (next) => next, ["Bearer secret1", "Bearer secret2"]],
  ["an async function", (next) => async () => next(), ["Bearer secret1", "Bearer secret2"]],
])("%s gives the token of each call", async (_what, make, expected) => {
  let calls = 0;
  const { sent, client } = createProbe(make(() => `secret${++calls}`));
  await client.createPlant({});
  await client.createPlant({});
  expect(sent).toEqual(expected);
});

test("an error of the function fails the call, unless the call has a header of its own", async () => {
  const { sent, client } = createProbe(async () => {
    throw new Error("signed out");
  });
  await expect(client.createPlant({})).rejects.toThrow("signed out");
  await client.createPlant({}, { headers: { Authorization: "Bearer other" } });
  expect(sent).toEqual(["Bearer other"]);
});

const bad = ["", "sec ret", "secret\r\nX-Admin: 1", "sécret", "=secret"];

test.each(bad)("the string %j is rejected, and not quoted", async (token) => {
  expect(() => bearerToken(token)).toThrow(TypeError);
  expect(() => bearerToken(token)).toThrow(/^the bearer token (?!.*s.?cret)/);
  // From a function it fails the call.
  const { sent, client } = createProbe(() => token);
  const error = ConnectError.from(await client.createPlant({}).catch((error) => error));
  expect(error.code).toBe(Code.Unauthenticated);
  expect(error.rawMessage).toMatch(/^the bearer token (?!.*s.?cret)/);
  expect(sent).toEqual([]);
});

test.each([undefined, null, 1, {}])("%j is neither a string nor a function", async (given) => {
  const source = given as unknown as TokenSource;
  expect(() => bearerToken(source)).toThrow(TypeError);
  expect(() => bearerToken(source)).toThrow("must be a string");
  const { client } = createProbe((() => given) as unknown as TokenSource);
  await expect(client.createPlant({})).rejects.toThrow("must be a string");
});
