/** The flags of the command: one entry each, of which its parsing and its help are made. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { CommandError } from "./command-error.ts";

interface Flag {
  /** What stands for its value in the help; undefined for a flag without one. */
  readonly placeholder?: string;
  readonly isRepeated?: boolean;
  readonly help: string;
}

const flags = {
  upstream: {
    placeholder: "[SERVICE=]URL",
    isRepeated: true,
    help: "gRPC server: http://HOST:PORT or https://; with SERVICE=, for that service alone",
  },
  descriptors: {
    placeholder: "file",
    help: "the services, as a descriptor set: buf build -o services.binpb",
  },
  reflection: { help: "the services, from the upstreams' server reflection" },
  rules: {
    placeholder: "file",
    help: "google.api.http rules in YAML, for methods without annotations",
  },
  check: { help: "print what would be served and what is wrong, and exit with 0 or 1" },
  host: { placeholder: "address", help: "address to listen on (default: 127.0.0.1)" },
  port: { placeholder: "number", help: "port; 0 takes a free one and prints it (default: 8080)" },
  "tls-cert": { placeholder: "file", help: "certificate chain in PEM: the port speaks TLS" },
  "tls-key": { placeholder: "file", help: "its private key in PEM" },
  "upstream-ca": { placeholder: "file", help: "certificates to trust of https upstreams, in PEM" },
  "upstream-cert": { placeholder: "file", help: "client certificate for the upstreams (mTLS)" },
  "upstream-key": { placeholder: "file", help: "its private key in PEM" },
  "upstream-server-name": {
    placeholder: "name",
    help: "name that the upstreams' certificate must have (default: the host of the URL)",
  },
  "request-metadata": {
    placeholder: "list",
    help: "request headers to pass on, besides authorization and those of tracing",
  },
  "cors-origin": {
    placeholder: "list",
    help: "origins whose pages may call: https://a.example,…, or *",
  },
  openapi: { help: "serve the OpenAPI document at /openapi.json, and a page of it at /docs" },
  "body-bytes-max": {
    placeholder: "number",
    help: "largest message, of clients and upstreams, in bytes (default: 4194304)",
  },
  "body-budget-bytes": {
    placeholder: "number",
    help: "messages in memory, of all calls together, in bytes (default: 67108864)",
  },
  "request-timeout-ms": {
    placeholder: "number",
    help: "how long a client may take to send a request or a whole stream (default: 10000)",
  },
  "drain-timeout-ms": {
    placeholder: "number",
    help: "how long the last requests may take after SIGTERM (default: 10000)",
  },
  "admin-port": {
    placeholder: "number",
    help: "port of the metrics; 0 takes a free one (default: nothing is measured)",
  },
  "admin-host": { placeholder: "address", help: "address of the metrics (default: 127.0.0.1)" },
  "log-format": { placeholder: "auto|json|text", help: "form of the log (default: auto)" },
  "access-log": {
    placeholder: "on|errors|off",
    help: "a log line for each request, or for failed ones alone (default: off)",
  },
  version: { help: "print the version" },
  help: { help: "print this" },
} as const satisfies Readonly<Record<string, Flag>>;

type Name = keyof typeof flags;

/** What was given, as text. */
export type GivenFlags = {
  readonly [K in Name]:
    | ((typeof flags)[K] extends { isRepeated: true }
        ? readonly string[]
        : (typeof flags)[K] extends { placeholder: string }
          ? string
          : boolean)
    | undefined;
};

/** @throws {CommandError} */
export function parseFlags(args: readonly string[]): GivenFlags {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Object.entries<Flag>(flags).map(([name, { placeholder, isRepeated = false }]) => [
      name,
      { type: placeholder === undefined ? "boolean" : "string", multiple: isRepeated },
    ]),
  );
  try {
    return parseArgs({ args: [...args], options }).values as GivenFlags;
  } catch (error) {
    throw new CommandError((error as Error).message, { cause: error });
  }
}

export function formatHelp(): string {
  const rows = Object.entries<Flag>(flags).map(([name, { placeholder, help }]) => {
    const value = placeholder === undefined ? "" : ` <${placeholder}>`;
    return `  ${`--${name}${value}`.padEnd(32)}  ${help}`;
  });
  return `Usage: connect-gateway-proxy --upstream URL (--descriptors FILE | --reflection) [options]

Serves a gRPC server by REST, Connect, gRPC-Web and gRPC, on one port.

${rows.join("\n")}
`;
}
