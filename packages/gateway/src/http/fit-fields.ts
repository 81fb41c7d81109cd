import type { NodeHeaders } from "./headers.ts";

/** Without these, a client does not know how its call went, or cannot read the answer. */
const needed = new Set([
  ":status",
  "content-encoding",
  "content-length",
  "content-type",
  "grpc-encoding",
  "grpc-message",
  "grpc-status",
  "retry-after",
  "www-authenticate",
]);

/**
 * Headers or trailers that the client takes: HTTP/2 resets a stream with more, and the status of
 * the call is lost. Details go first, then what is longest.
 *
 * @param bytesMax As RFC 9113 section 6.5.2 counts.
 * @param onOmitted Told of the names of fields that are left out.
 */
export function fitFields(
  fields: NodeHeaders,
  bytesMax: number,
  onOmitted: (names: string) => void,
): NodeHeaders {
  let bytes = 0;
  for (const name in fields) bytes += sizeOf(name, fields[name]);
  if (bytes <= bytesMax) return fields;
  const omitted = new Set<string>();
  const candidates = Object.keys(fields)
    .filter((name) => !needed.has(name))
    .map((name) => ({ name, size: sizeOf(name, fields[name]) }))
    .sort((a, b) => Number(isDetails(b.name)) - Number(isDetails(a.name)) || b.size - a.size);
  for (const { name, size } of candidates) {
    if (bytes <= bytesMax) break;
    bytes -= size;
    omitted.add(name);
  }
  if (omitted.size > 0) onOmitted([...omitted].join(", "));
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !omitted.has(name)));
}

function isDetails(name: string): boolean {
  return name === "grpc-status-details-bin";
}

function sizeOf(name: string, value: NodeHeaders[string]): number {
  if (value === undefined) return 0;
  if (typeof value !== "object") return name.length + String(value).length + 32;
  return value.reduce((bytes, one) => bytes + name.length + one.length + 32, 0);
}
