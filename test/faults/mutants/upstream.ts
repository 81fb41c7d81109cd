import type { Mutant } from "./mutant.ts";

const attempt = "packages/gateway/src/client/attempt.ts";
const answer = "packages/gateway/src/client/answer.ts";

/** Breaks of what the gRPC client decides: whether a server is alive, what is done, what it said. */
export const upstreamMutants: readonly Mutant[] = [
  {
    name: "upstream: asks a silent server, and waits for it forever",
    file: "packages/gateway/src/client/liveness.ts",
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
];
