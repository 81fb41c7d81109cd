/** Headers in Node's form, with lower-case names. May include pseudo-headers. */
export type NodeHeaders = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export type HeaderRecord = Record<string, string | number | readonly string[] | undefined>;

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface LazyHeaders extends Headers {}

/**
 * `Headers` on top of Node's headers object. A real one is filled only for more than a field lookup:
 * most calls look up one or two, and filling costs more than all the gateway's other work on headers.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: Bun and Workers declare further methods.
export class LazyHeaders {
  // Defined here, as an assignment would look for a setter in the prototype, which is a proxy.
  readonly #initial: NodeHeaders;
  /** The given fields; undefined once they may have changed. */
  source: NodeHeaders | undefined;
  #filled: Headers | undefined;

  /** @param source Must not change from now on. Pseudo-headers are ignored. */
  constructor(source: NodeHeaders) {
    this.#initial = source;
    this.source = source;
  }

  /** The source, if nothing has changed. */
  toNode(): NodeHeaders {
    return this.source ?? toNodeHeaders(this);
  }

  /** Replaces its own fields with those of another object, except the fields it was created with. */
  replace(other: Headers): void {
    for (const name of [...this.keys()]) this.delete(name);
    for (const [name, value] of [...new LazyHeaders(this.#initial), ...other]) {
      if (name === "set-cookie") this.append(name, value);
      else this.set(name, value);
    }
  }

  /** Whether it has a field that it was not created with. */
  get hasMore(): boolean {
    if (this.source !== undefined) return false;
    return [...this.keys()].some((name) => this.#initial[name] === undefined);
  }

  get(name: string): string | null {
    const value = this.source?.[name];
    // Spaces around it, and pseudo-headers, are left to Headers.
    const isPlain = typeof value === "string" && isTrimmed(value);
    if (isPlain && name.charCodeAt(0) !== 0x3a) return value;
    return this.#lacks(name, value) ? null : this.#fill().get(name);
  }

  has(name: string): boolean {
    return !this.#lacks(name, this.source?.[name]) && this.#fill().has(name);
  }

  forEach(...[callback, thisArgument]: Parameters<Headers["forEach"]>): void {
    for (const [key, value] of this) callback.call(thisArgument, value, key, this);
  }

  get [Symbol.toStringTag](): string {
    return "Headers";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): Headers {
    return this.#fill();
  }

  /** What else Headers have is done by those that are filled from the source. */
  static {
    const others = ["set", "append", "delete", "getSetCookie", "keys", "values", "entries"];
    for (const name of [...others, Symbol.iterator]) {
      Reflect.set(LazyHeaders.prototype, name, function (this: LazyHeaders, ...values: unknown[]) {
        const filled = this.#fill();
        return Reflect.apply(Reflect.get(filled, name), filled, values);
      });
    }
  }

  /** Whether a field is missing. A name in another case, or an invalid one, is left to Headers. */
  #lacks(name: string, value: unknown): boolean {
    return value === undefined && this.source !== undefined && lowerCaseName.test(name);
  }

  #fill(): Headers {
    this.#filled ??= fromNodeHeaders(this.#initial);
    this.source = undefined;
    return this.#filled;
  }
}

// For `instanceof Headers`, without the cost of its constructor. The first use of the global loads
// undici, which takes 50 ms and 15 MiB, so it waits until somebody asks.
const parent = new Proxy({}, { getPrototypeOf: () => Headers.prototype });
Object.setPrototypeOf(LazyHeaders.prototype, parent);

/** Whether no space, nor another control character, is around a value. */
export function isTrimmed(value: string): boolean {
  return value === "" || (value.charCodeAt(0) > 0x20 && value.charCodeAt(value.length - 1) > 0x20);
}

const lowerCaseName = /^[a-z\d-]+$/;

export function fromNodeHeaders(source: NodeHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(source)) {
    if (name.startsWith(":") || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, `${one}`);
  }
  return headers;
}

/**
 * Headers in the form that Node writes: a repeated field is an array. So is one of bytes in base64,
 * which has no comma: grpc-go fails a call whose metadata joins several.
 */
export function toNodeHeaders(headers: Headers): HeaderRecord {
  const result: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of headers) {
    const existing = result[name]; // only Set-Cookie is repeated
    const isJoined = name.endsWith("-bin") && value.includes(",");
    if (existing !== undefined) result[name] = [existing, value].flat();
    else result[name] = isJoined ? value.split(",").map((one) => one.trim()) : value;
  }
  return result;
}

/** Headers, and those that were added to them: these win, but an answer varies by both, and has the cookies of both. */
export function mergeHeaders(header: NodeHeaders, added: NodeHeaders | undefined): NodeHeaders {
  if (added === undefined) return header;
  const both = (name: string) =>
    header[name] !== undefined && added[name] !== undefined && [header[name], added[name]].flat();
  const vary = both("vary");
  const cookies = both("set-cookie");
  return {
    ...header,
    ...added,
    ...(vary && { vary: vary.join(", ") }),
    ...(cookies && { "set-cookie": cookies.map(String) }),
  };
}

/**
 * Why the head of a request is invalid: it has no URL, or repeats a field that may occur only once.
 * Node keeps the first one, while proxies may keep the last (RFC 9110 section 5.3).
 */
export function problemOf(url: string, rawHeaders: readonly string[]): string | undefined {
  if (url === "") return noUrl;
  let hosts = 0;
  let types = 0;
  let authorizations = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    // Runs for every request: most names have another length.
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
    else if (name.length === 12 && name.toLowerCase() === "content-type") types++;
    else if (name.length === 13 && name.toLowerCase() === "authorization") authorizations++;
  }
  if (hosts > 1) return noUrl;
  if (types > 1) return "the header Content-Type must be sent once";
  return authorizations > 1 ? "the header Authorization must be sent once" : undefined;
}

export const noUrl = "Host must name one host, and the target be a percent-encoded path";

/** Node's parser takes other codings for a part of the content. RFC 9112 section 6.1: 501. */
export const onlyChunked = "Transfer-Encoding must be chunked";

/** RFC 9113 section 8.2.2: connection-specific headers are not allowed in HTTP/2. */
const connectionHeaders: ReadonlySet<string> = new Set(
  "connection http2-settings keep-alive proxy-connection te transfer-encoding upgrade".split(" "),
);

export function isOfConnection(name: string): boolean {
  return connectionHeaders.has(name);
}

/** The headers allowed in a response over HTTP/2. Node throws if it is given others. */
export function withoutConnection(headers: NodeHeaders): NodeHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isOfConnection(name)));
}

/** Removes a Content-Length of the application, which does not include the envelopes. */
export function withoutLength(fields: NodeHeaders): NodeHeaders {
  if (!("content-length" in fields)) return fields;
  const { "content-length": _length, ...rest } = fields;
  return rest;
}

/** Never removed: the client needs them to read the answer and its status. */
const needed: ReadonlySet<string> = new Set([
  ...[":status", "content-encoding", "content-length", "content-type", "retry-after"],
  ...["grpc-encoding", "grpc-message", "grpc-status", "www-authenticate"],
]);

/**
 * Headers or trailers as HTTP/2 can send them: without those of a connection, and within the client's limit,
 * without details first, then the longest fields. A reset of the stream would lose the status of the call.
 */
export function fitFields(
  fields: NodeHeaders,
  bytesMax: number,
  onOmitted: (names: string) => void,
): NodeHeaders {
  for (const name in fields) {
    if (connectionHeaders.has(name))
      return fitFields(withoutConnection(fields), bytesMax, onOmitted);
  }
  let bytes = sizeOfFields(fields);
  if (bytes <= bytesMax) return fields;
  const fitting: HeaderRecord = { ...fields };
  const omitted: string[] = [];
  const rank = (name: string) =>
    name === "grpc-status-details-bin" ? Number.POSITIVE_INFINITY : sizeOf(name, fields[name]);
  const candidates = Object.keys(fields).filter((name) => !needed.has(name));
  for (const name of candidates.sort((a, b) => rank(b) - rank(a))) {
    if (bytes <= bytesMax) break;
    bytes -= sizeOf(name, fields[name]);
    omitted.push(name);
    delete fitting[name];
  }
  if (omitted.length > 0) onOmitted(omitted.join(", "));
  return fitting;
}

/** As RFC 9113 section 6.5.2 counts. */
export function sizeOfFields(fields: NodeHeaders): number {
  let bytes = 0;
  for (const name in fields) bytes += sizeOf(name, fields[name]);
  return bytes;
}

function sizeOf(name: string, value: NodeHeaders[string]): number {
  if (value === undefined) return 0;
  if (typeof value !== "object") return name.length + String(value).length + 32;
  return value.reduce((bytes, one) => bytes + name.length + one.length + 32, 0);
}

/** A media type without its parameters, in lower case. Empty if its charset is not UTF-8. */
export function mediaTypeOf(contentType: string): string {
  const unquoted = contentType
    .toLowerCase()
    .replaceAll(quotedString, (text) => (text === '"utf-8"' ? "utf-8" : "another"));
  const [type = "", ...parameters] = unquoted.split(";").map((part) => part.trim());
  const charsets = parameters.filter((parameter) => /^charset\s*=/.test(parameter));
  return charsets.every((charset) => /^charset\s*=\s*utf-?8$/.test(charset)) ? type : "";
}

// RFC 9110 section 5.6.4. Without an end, too: a search for one at each quotation mark would take long.
const quotedString = /"(?:[^"\\]|\\.?)*"?/gs;
