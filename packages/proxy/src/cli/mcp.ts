/** `--mcp`: methods of the upstreams as tools. */
import { createMcp } from "connect-gateway/mcp";
import type { ServedOptions } from "connect-gateway/server";
import { CommandError } from "./command-error.ts";
import type { Served } from "./served.ts";

/**
 * @param names Of services and methods; `on` for all that can be tools.
 * @param served Undefined while the services are not known.
 * @param isComplete Whether all upstreams have told their services.
 * @throws {CommandError} for a name that is none of theirs, if they are complete.
 */
export function createTools(
  names: readonly string[],
  version: string,
  served: Served | undefined,
  isComplete: boolean,
): Pick<ServedOptions, "mcp"> {
  if (served === undefined || names.length === 0) return {};
  const methods = served.services.flatMap((service) => service.methods);
  const offered = methods.filter(
    ({ methodKind }) => methodKind === "unary" || methodKind === "server_streaming",
  );
  const all = offered.map(({ name, parent }) => `${parent.typeName}/${name}`);
  const isKnown = (name: string) => all.some((one) => one === name || one.startsWith(`${name}/`));
  const wanted = names.flatMap((name) => (name === "on" ? all : [name]));
  const unknown = wanted.find((name) => !isKnown(name));
  if (unknown !== undefined && isComplete) {
    throw new CommandError(`--mcp ${unknown}: there is no such method; there is ${all.join(", ")}`);
  }
  const tools = wanted.filter(isKnown);
  if (tools.length === 0) return {};
  return { mcp: createMcp({ tools, server: { name: "connect-gateway-proxy", version } }) };
}
