import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { Command } from "commander";
import { common } from "../settings/common.ts";
import { addSettingFlags, type Flags, flagsOf, readSettings } from "../settings/given.ts";
import { reachable } from "../settings/place.ts";
import type { OptionsOf, Program } from "../settings/schema.ts";
import { CommandFailure } from "./run.ts";

type Common = typeof common;
type Options = OptionsOf<Common["listener"] & Common["admin"] & Pick<Common, "tls">>;

/** `health`: asks the server with these settings, for containers without a shell and curl. */
export function createHealthCommand<O extends Options>(program: Program<O, unknown>): Command {
  const used = ["host", "port", "tls-cert", "tls-client-ca", "admin-host", "admin-port"];
  return addSettingFlags(program, new Command("health"), ...used)
    .description(
      "Exit with 0 if the server with these settings returns 200 for /healthz, else with 1.",
    )
    .action(async (_: Flags, own: Command) => {
      const { options } = await readSettings(program, flagsOf(own), ...used);
      const problem = await findProblem(placeOf(options));
      if (problem !== undefined) throw new CommandFailure(1, problem);
    });
}

function placeOf({ host, port, tls, adminHost, adminPort }: Options) {
  if (tls?.clientCaFile === undefined) {
    if (port === 0) throw new CommandFailure(2, "set --port to the one that the server printed");
    const { host: byDefault, port: portByDefault } = common.listener;
    const isTls = tls?.certFile !== undefined;
    return { host: host ?? byDefault.default, port: port ?? portByDefault.default, isTls };
  }
  if (adminPort === undefined || adminPort === 0) {
    throw new CommandFailure(2, "with --tls-client-ca it asks on the admin port: set --admin-port");
  }
  return { host: adminHost ?? common.admin.adminHost.default, port: adminPort, isTls: false };
}

const answerTimeoutMs = 4000;

async function findProblem({ host, port, isTls }: ReturnType<typeof placeOf>) {
  const [, socketPath] = /^unix:(.*)$/s.exec(host) ?? [];
  const signal = AbortSignal.timeout(answerTimeoutMs);
  const request = (isTls ? https : http).get({
    ...(socketPath === undefined ? { host: reachable(host), port } : { socketPath }),
    path: "/healthz",
    // The certificate is for the name that clients use. Nothing secret is sent.
    rejectUnauthorized: false,
    signal,
  });
  try {
    const [{ statusCode }] = await once(request, "response");
    request.on("error", () => {}).destroy();
    const hint = statusCode === 404 ? ": health is off there, or it is another server" : "";
    return statusCode === 200 ? undefined : `/healthz answers ${statusCode}${hint}`;
  } catch (error) {
    if (signal.aborted) return `/healthz does not answer within ${answerTimeoutMs / 1000} s`;
    return `cannot request /healthz: ${(error as Error).message}`;
  }
}
