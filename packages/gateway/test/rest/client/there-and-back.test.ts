/**
 * Any message by any rule: our own gateway reads the message that the transport was given, or
 * the call fails before anything is sent. `RUNS=10000 SEED=7` runs more and other cases.
 */
import {
  create,
  type DescMethod,
  type Message,
  mergeFromJson,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import fc from "fast-check";
import { expect, test } from "vitest";
import { gatewayFetchHandler } from "../../../src/fetch.ts";
import { createRestTransport } from "../../../src/rest/client/index.ts";
import { leafOf, parameterReader } from "../../../src/rest/rule/field-path.ts";
import { type Binding, bindingsOf, RuleError } from "../../../src/rest/rule/rule.ts";
import { type EveryField, EveryFieldSchema } from "../../gen/library/v1/fields_pb.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { anyMessage } from "../../support/arbitrary-message.ts";
import { describeMethod, type Rule } from "../../support/described-method.ts";

const seed = Number(process.env["SEED"] ?? 20261127);
const numRuns = Number(process.env["RUNS"] ?? 120);

const desc = EveryFieldSchema;
const names = desc.fields.map(({ name }) => name);
const bound = desc.fields
  .filter((one) => one.fieldKind !== "list" && one.fieldKind !== "map" && parameterReader(one))
  .filter(({ name }) => name !== "choice_null") // other numbers than 0 have no JSON
  .flatMap(({ name }) => [name, `child.${name}`, `choice_child.child.${name}`]);
const text = ["string", "optional_string", "child.string", "choice_string", "string_wrapper"];

const patterns = ["", "=*", "=**", "=a/*", "=*/b/*", "=a%2F/**", "=b"];
const ends = ["", "", ":verb", "/tail", "/%2F:a%3Ab:verb"];

/** A template of up to two variables. */
const template = fc
  .tuple(
    fc.uniqueArray(fc.oneof(fc.constantFrom(...text), fc.constantFrom(...bound)), { maxLength: 2 }),
    fc.array(fc.constantFrom(...patterns), { minLength: 3, maxLength: 3 }),
    fc.constantFrom(...ends),
  )
  .map(([fields, pattern, end]) => {
    const variables = fields.map((field, i) => {
      const mayBeOpen = i === fields.length - 1 && !end.startsWith("/");
      return `/v/{${field}${mayBeOpen ? pattern[i] : pattern[i]?.replace("**", "*")}}`;
    });
    return `/x${variables.join("")}${end}`;
  });

const rule: fc.Arbitrary<Rule> = fc
  .record({
    paths: fc.array(template, { minLength: 1, maxLength: 3 }),
    body: fc.oneof(fc.constantFrom("", "*"), fc.constantFrom(...names)),
    responseBody: fc.oneof(fc.constant(""), fc.constantFrom(...names)),
  })
  .map(({ paths: [first = "", ...others], body, responseBody }) => ({
    pattern: { case: "post", value: first },
    ...{ body, responseBody },
    additionalBindings: others.map((value) => ({ pattern: { case: "get", value } })),
  }));

const methods = rule.map((one) => describeMethod(desc, one)).filter(isServed);

function isServed(method: DescMethod): boolean {
  try {
    return (
      bindingsOf(method).length > 0 && gatewayFetchHandler({ routes: routesOf(method) }) !== null
    );
  } catch (error) {
    if (error instanceof RuleError) return false;
    throw error;
  }
}

const routesOf =
  (method: DescMethod, call: (message: Message) => Message = (message) => message) =>
  (router: Parameters<Parameters<typeof gatewayFetchHandler>[0]["routes"]>[0]) =>
    router.service(method.parent, { call } as never);

/** Few fields, so that a query can hold them. */
const few = fc.tuple(anyMessage(desc, { depth: 1 }), fc.nat()).map(([message, from]) => {
  const all = desc.fields.filter((field) => reflect(desc, message).isSet(field));
  for (const [i, field] of all.entries()) {
    if ((i + from) % 4 > 0) reflect(desc, message).clear(field);
  }
  return message;
});

const piece = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 4 }),
  fc.constantFrom("a", "b", ".", "..", "%2F", "a/b", "tail", "x:verb", "%", "é ?#+"),
);

/** Texts that a variable's pattern mostly matches. */
function fill(message: EveryField, { template, variables }: Binding, pieces: string[]): void {
  for (const { path, from, to } of variables) {
    const segments = template.segments.slice(from, to);
    const value = segments
      .map((one, i) => (one.kind === "literal" ? one.value : (pieces[i] ?? "a/b")))
      .join("/");
    let holder: ReflectMessage = reflect(desc, message);
    for (const field of path.slice(0, -1)) {
      if (!holder.isSet(field)) holder.set(field, reflect(desc) as never); // child, choice_child
      holder = holder.get(field) as ReflectMessage;
    }
    const { parent, jsonName } = leafOf(path);
    for (const json of [value, 7, true, "GENRE_NOVEL", "2026-11-27T00:00:00Z", "1.5s", null]) {
      try {
        mergeFromJson(parent, holder.message, { [jsonName]: json });
        break;
      } catch {
        // Of another type.
      }
    }
  }
}

const cases = fc
  .record({
    method: methods,
    message: fc.oneof({ weight: 3, arbitrary: few }, anyMessage(desc)),
    filled: fc.nat({ max: 3 }),
    pieces: fc.array(piece, { maxLength: 3 }),
  })
  .map(({ method, message, filled, pieces }) => {
    const binding = bindingsOf(method)[filled];
    if (binding !== undefined) fill(message, binding, pieces);
    return { method, message };
  });

/** NaN is the same as NaN. */
function isSame(one: EveryField, other: EveryField): boolean {
  return Buffer.from(toBinary(desc, one)).equals(toBinary(desc, other));
}

test("the server reads what was given, or nothing is sent", async () => {
  let sent = 0;
  let asked = 0;
  const property = fc.asyncProperty(cases, async ({ method, message }) => {
    const before = toJsonString(desc, message);
    asked++;
    const received: EveryField[] = [];
    const handler = gatewayFetchHandler({
      routes: routesOf(method, (one) => {
        received.push(one as EveryField);
        return one;
      }),
      rest: { fillUpdateMask: false },
    });
    let target = "";
    const transport = createRestTransport({
      baseUrl: "http://localhost/",
      fetch: (url, init) => {
        target = `${init?.method} ${url}`;
        return handler(new Request(url as string, init));
      },
    });
    const client = createClient(method.parent, transport) as unknown as {
      call(message: Message): Promise<EveryField>;
    };
    try {
      const answer = await client.call(message);
      sent++;
      const [first = create(desc)] = received;
      expect(received.length, target).toBe(1);
      expect(isSame(first, message), `${target}: ${toJsonString(desc, first)}`).toBe(true);
      const [whole] = bindingsOf(method);
      const responseBody = target.startsWith("POST") ? whole?.responseBody : undefined;
      const { [responseBody?.jsonName ?? ""]: part } = JSON.parse(before);
      if (responseBody === undefined) expect(isSame(answer, message)).toBe(true);
      else if (part !== undefined) {
        expect(JSON.parse(toJsonString(desc, answer))).toEqual({ [responseBody.jsonName]: part });
      }
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      expect(received.length, `${target}: ${error.message}`).toBe(0);
      expect(target, error.message).toBe("");
      expect(error.code).toBe(Code.InvalidArgument);
    }
    expect(toJsonString(desc, message)).toBe(before);
  });
  await fc.assert(property, { seed, numRuns });
  expect(sent / asked).toBeGreaterThan(0.25);
});
