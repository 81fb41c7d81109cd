import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { Command } from "commander";
import { listenerSettings } from "../settings/common.ts";
import { addSettingFlags } from "../settings/flags.ts";
import { type Flags, readSettings } from "../settings/given.ts";
import type { Program } from "../settings/program.ts";
import { CommandFailure } from "./command-failure.ts";

/** As much of a program's options as is read. */
interface Options {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly tls?:
    | { readonly certFile?: string | undefined; readonly clientCaFile?: string | undefined }
    | undefined;
  readonly adminHost?: string | undefined;
  readonly adminPort?: number | undefined;
}

/** `health`: asks the server with these settings, for containers without a shell and curl. */
export function createHealthCommand<O extends Options>(program: Program<O, unknown>): Command {
  const used = ["host", "port", "tls-cert", "tls-client-ca", "admin-host", "admin-port"];
  const command = new Command("health")
    .description(
      "Exit with 0 if the server of these settings answers /healthz with 200, else with 1.",
    )
    .action(async (flags: Flags) => {
      const { options } = await readSettings(program, flags, ...used);
      const problem = await findProblem(options);
      if (problem !== undefined) throw new CommandFailure(1, problem);
    });
  return addSettingFlags(program, command, ...used);
}

const answerTimeoutMs = 4000;

async function findProblem(options: Options): Promise<string | undefined> {
  const { tls, adminPort, adminHost } = options;
  if (tls?.clientCaFile === undefined) return await ask(options);
  // The port admits only clients with a certificate.
  if (adminPort === undefined) return "set --admin-port, which needs no client certificate";
  return await ask({ port: adminPort, ...(adminHost !== undefined && { host: adminHost }) });
}

function ask({ host, port, tls }: Options): Promise<string | undefined> {
  const { host: defaultHost, port: defaultPort } = listenerSettings;
  const address = host ?? defaultHost.default;
  const [, socketPath] = /^unix:(.*)$/s.exec(address) ?? [];
  const isTls = tls?.certFile !== undefined;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const request = (isTls ? requestTls : requestPlain)({
    ...(socketPath === undefined
      ? { host: anyAddresses[address] ?? address, port: port ?? defaultPort.default }
      : { socketPath }),
    path: "/healthz",
    // The certificate is for the name that clients use. Nothing secret is sent.
    rejectUnauthorized: false,
    timeout: answerTimeoutMs,
  });
  request.on("response", ({ statusCode }) => {
    resolve(statusCode === 200 ? undefined : `/healthz answers ${statusCode}`);
    request.destroy();
  });
  request.on("timeout", () => {
    resolve(`/healthz does not answer within ${answerTimeoutMs / 1000} s`);
    request.destroy();
  });
  request.on("error", ({ message }) => resolve(`/healthz cannot be asked: ${message}`));
  request.end();
  return promise;
}

/** Where a server that listens on all addresses can be asked. */
const anyAddresses: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
