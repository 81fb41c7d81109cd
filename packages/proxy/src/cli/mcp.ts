/** `--mcp`: methods of the upstreams as tools. */
import { createMcp } from "connect-gateway/mcp";
import type { ServedOptions } from "connect-gateway/server";
import { CommandError } from "./command-error.ts";
import type { Served } from "./served.ts";

/**
 * @param names Of services and methods; an empty one for all that can be tools.
 * @param served Undefined while the services are not known.
 * @throws {CommandError} for a name that is none of theirs.
 */
export function createTools(
  names: readonly string[],
  version: string,
  served: Served | undefined,
): Pick<ServedOptions, "mcp"> {
  if (served === undefined || names.length === 0) return {};
  const methods = served.services.flatMap((service) => service.methods);
  const offered = methods.filter(
    ({ methodKind }) => methodKind === "unary" || methodKind === "server_streaming",
  );
  const all = offered.map(({ name, parent }) => `${parent.typeName}/${name}`);
  const tools = names.flatMap((name) => (name === "" ? all : [name]));
  for (const name of tools) {
    if (all.some((one) => one === name || one.startsWith(`${name}/`))) continue;
    throw new CommandError(`--mcp ${name}: there is no such method; there is ${all.join(", ")}`);
  }
  if (tools.length === 0) return {};
  return { mcp: createMcp({ tools, server: { name: "connect-gateway", version } }) };
}
