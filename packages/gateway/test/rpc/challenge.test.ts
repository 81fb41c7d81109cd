/** RFC 9110 section 15.5.2: a 401 says how to authenticate. */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { openFields } from "../support/echo.ts";

const json = { "content-type": "application/json" };
const own = 'Basic realm="a"';

const refusals: readonly (readonly [
  what: string,
  refuse: (context: HandlerContext) => ConnectError,
  challenge: string,
])[] = [
  ["Bearer by default", () => new ConnectError("no", Code.Unauthenticated), "Bearer"],
  [
    "the one in the error's metadata",
    () => new ConnectError("no", Code.Unauthenticated, { "www-authenticate": own }),
    own,
  ],
  [
    "the one that the application has set",
    ({ responseHeader }) => {
      responseHeader.set("www-authenticate", own);
      return new ConnectError("no", Code.Unauthenticated);
    },
    own,
  ],
];

describe.each([
  ["REST", "/v1/fields"],
  ["Connect", "/library.v1.FieldService/Echo"],
])("a 401 of %s has", (_protocol, path) => {
  test.each(refusals)("%s", async (_what, refuse, challenge) => {
    await using gateway = await openFields(undefined, {
      requestGate: (context) => {
        throw refuse(context);
      },
    });
    for (const version of ["1.1", "2"] as const) {
      const { status, headers } = await gateway.send({ version, path, headers: json, body: "{}" });
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toBe(challenge);
    }
  });
});
