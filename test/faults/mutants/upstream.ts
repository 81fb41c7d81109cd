import type { Mutant } from "./mutant.ts";

const attempt = "packages/gateway/src/client/attempt.ts";
const answer = "packages/gateway/src/client/answer.ts";
const connections = "packages/gateway/test/client/connections.test.ts";

/** Breaks of what the gRPC client decides: whether a server is alive, what is done, what it said. */
export const upstreamMutants: readonly Mutant[] = [
  {
    name: "upstream: asks a silent server, and waits for it forever",
    file: "packages/gateway/src/client/connection.ts",
    find: "else if (this.#isAsked) this.#socket.destroy(silent());",
    replace: "else if (this.#isAsked) return;",
    campaign: "upstream",
  },
  {
    name: "upstream: sends again what the server may have done",
    file: attempt,
    find: "return this.#head === undefined && this.#connection.hasPassedOver(this.stream);",
    replace: "return this.#head === undefined;",
    campaign: "upstream",
  },
  {
    name: "upstream: takes an answer without a status for a success",
    file: attempt,
    find: "if (this.#trailer === undefined) return this.brokenOff;",
    replace:
      "if (this.#trailer === undefined && this.#head === undefined) return this.brokenOff;\n    if (this.#trailer === undefined) return undefined;",
    campaign: "upstream",
  },
  {
    name: "upstream: loses the message beside details that cannot be read",
    file: answer,
    find: `const text = parseMessage(\`\${trailer["grpc-message"] ?? ""}\`) || message;`,
    replace: "const text = message;",
    campaign: "upstream",
  },
  {
    name: "client: headers that are none keep a place",
    file: "packages/gateway/src/client/connection.ts",
    find: "      this.vacate();\n      throw error;",
    replace: "      throw error;",
    campaign: connections,
  },
  {
    name: "client: ended calls stay with their caller's signal",
    file: "packages/gateway/src/client/call-deadline.ts",
    find: 'this.#cancellation?.removeEventListener("abort", this);',
    replace: "",
    campaign: "packages/gateway/test/client/streams.test.ts",
  },
  {
    name: "client: tokens enter HPACK's table",
    file: "packages/gateway/src/client/transport.ts",
    find: "[sensitiveHeaders]: secrets,",
    replace: "",
    campaign: connections,
  },
  {
    name: "client: any number of connections to one address",
    file: "packages/gateway/src/client/subchannel.ts",
    find: " || openCount >= connectionsMax",
    replace: "",
    campaign: connections,
  },
  {
    name: "client: more than one answer to a unary call is one",
    file: "packages/gateway/src/rpc/envelope.ts",
    find: "if (this.#message !== undefined) throw this.#reading.errors.extra();",
    replace: "",
    campaign: "packages/gateway/test/client/answers.test.ts",
  },
  {
    name: "proxy: any number of files by reflection",
    file: "packages/proxy/src/services/reflection.ts",
    find: "if (files.size > filesMax)",
    replace: "if (files.size < 0)",
    campaign: "packages/proxy/test/services/reflection.test.ts",
  },
];
