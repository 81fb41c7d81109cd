/** `--mcp`: methods of the upstreams as tools. */
import { createMcp } from "connect-gateway/mcp";
import type { ServedOptions } from "connect-gateway/server";
import type { Served } from "./served.ts";

/**
 * @param names Of services and methods; `on` for all that can be tools.
 * @param served Undefined while the services are not known.
 * @param onUnknown Called with what is wrong about a name that is none of theirs, which is left out.
 */
export function createTools(
  names: readonly string[],
  version: string,
  served: Served | undefined,
  onUnknown: (problem: string) => void,
): Pick<ServedOptions, "mcp"> {
  if (served === undefined || names.length === 0) return {};
  const methods = served.services.flatMap((service) => service.methods);
  const offered = methods.filter(
    ({ methodKind }) => methodKind === "unary" || methodKind === "server_streaming",
  );
  const all = offered.map(({ name, parent }) => `${parent.typeName}/${name}`);
  const isKnown = (name: string) => all.some((one) => one === name || one.startsWith(`${name}/`));
  const wanted = names.flatMap((name) => (name === "on" ? all : [name]));
  for (const name of wanted) {
    if (isKnown(name)) continue;
    onUnknown(`--mcp ${name}: no such method; choose from ${all.join(", ")}`);
  }
  const tools = wanted.filter(isKnown);
  if (tools.length === 0) return {};
  return { mcp: createMcp({ tools, server: { name: "connect-gateway-proxy", version } }) };
}
