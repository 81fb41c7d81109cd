/** gRPC-Web text: bodies in base64. */
import { base64 } from "../base64.ts";
import type { Case } from "../case.ts";
import type { Outcome } from "../outcome.ts";
import { textRows } from "../rows/text.ts";
import { type Difference, isUnary, mapStrings, valuesOf, withRequestHeader } from "./difference.ts";

const grpcWebText: Difference = {
  name: "gRPC-Web text is served",
  why:
    "Stock answers 415. Browsers that cannot read a body of bytes send and take base64, message by " +
    "message: ours does with it what both do with the bytes.",
  applies: isText,
  like(given) {
    const { request } = given;
    const headers = request.headers.map(
      ([name, value]) =>
        [name, name === "content-type" ? value.replace("-text", "") : value] as const,
    );
    // Instead of invalid base64, a body that is invalid in another way.
    const body = base64.decode(Buffer.concat(request.body).toString("latin1")) ?? Buffer.of(0);
    return { ...given, request: { ...request, headers, body: [body] } };
  },
  expected(stock, given) {
    const text = Buffer.concat(given.request.body);
    const told = base64.decode(text.toString("latin1")) === undefined ? notBase64(stock) : stock;
    const changed = mapStrings(told, (value) =>
      value.replace(/^application\/grpc-web(?!-text)/, "application/grpc-web-text"),
    );
    return {
      ...changed,
      seen: withRequestHeader(changed.seen, "content-length", `${text.length}`),
    };
  },
  examples: textRows.flatMap(({ cases }) => cases.slice(0, 1)),
};

/** For unary calls; connect-es serves streams. */
function isText(given: Case): boolean {
  const [type = ""] = valuesOf(given.request.headers, "content-type");
  return (
    /^application\/grpc-web-text/.test(type) && given.request.method === "POST" && isUnary(given)
  );
}

function notBase64(outcome: Outcome): Outcome {
  const message = "protocol error: the body is not base64";
  const other = "protocol error: incomplete envelope"; // with the same code
  return mapStrings(outcome, (text) =>
    text.replace(other, message).replace(encodeURIComponent(other), encodeURIComponent(message)),
  );
}

export const text: readonly Difference[] = [grpcWebText];
