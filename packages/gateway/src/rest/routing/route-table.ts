import { type PathTemplate, segmentsOf } from "../rule/path-template.ts";

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  any: Node<T> | undefined;
  rest: Node<T> | undefined;
  /** The routes that end here: by verb (`""` for none), then by method. */
  readonly ends: Map<string, Map<string, T>>;
}

/**
 * Maps an HTTP method and path to a handler: a trie over segments. A literal precedes `*`, and `*`
 * precedes `**`. If a branch leads nowhere, or only to another method, the next one counts. No node
 * is visited more than once, or twice for a path that ends in a verb.
 */
export class RouteTable<T extends object> {
  readonly #root: Node<T> = createNode();
  readonly #verbs = new Set<string>();
  /** By path, the methods of a template without variables: nothing takes precedence over it. */
  readonly #literals = new Map<string, Map<string, T>>();

  /** @returns false if the method and path already have a route. */
  add(method: string, { text, segments, verb = "" }: PathTemplate, value: T): boolean {
    if (verb !== "") this.#verbs.add(verb);
    let node = this.#root;
    for (const segment of segments) {
      const { kind } = segment;
      const known = kind === "literal" ? node.literals.get(segment.value) : node[kind];
      const next = known ?? createNode<T>();
      if (kind === "literal") node.literals.set(segment.value, next);
      else node[kind] = next;
      node = next;
    }
    const methods = node.ends.get(verb) ?? new Map<string, T>();
    node.ends.set(verb, methods);
    if (methods.has(method)) return false;
    methods.set(method, value);
    if (!/[{*]/.test(text)) this.#literals.set(text, methods);
    return true;
  }

  /** @param path The raw path of the request target, without its query. */
  match(method: string, path: string): T | undefined {
    const literal = this.#literals.get(path)?.get(method);
    if (literal !== undefined) return literal;
    for (const methods of this.#search(path)) {
      // RFC 9110 section 9.3.2: HEAD is GET without the body of its answer.
      const get = method === "HEAD" ? methods.get("GET") : undefined;
      const found = methods.get(method) ?? get ?? methods.get("*");
      if (found !== undefined) return found;
    }
    return undefined;
  }

  methodsOf(path: string): ReadonlyMap<string, T> {
    const all = new Map(this.#search(path).flatMap((methods) => [...methods]));
    const get = all.get("GET");
    return get === undefined ? all : all.set("HEAD", get);
  }

  /** The methods of the templates that match a path, in order of precedence. */
  *#search(path: string): Generator<ReadonlyMap<string, T>> {
    if (!path.startsWith("/")) return;
    for (const { segments, verb } of this.#readings(path)) {
      for (const { ends } of nodesAt(this.#root, segments)) {
        const methods = ends.get(verb);
        if (methods !== undefined) yield methods;
      }
    }
  }

  /** The last segment may end in a verb of some route. Otherwise a colon is part of the segment. */
  *#readings(path: string) {
    const segments = segmentsOf(path);
    const last = segments.at(-1) ?? "";
    const colon = last.lastIndexOf(":");
    const verb = colon < 0 ? "" : decodeSegment(last.slice(colon + 1));
    const decoded = segments.map(decodeSegment);
    if (this.#verbs.has(verb)) {
      yield { segments: decoded.with(-1, decodeSegment(last.slice(0, colon))), verb };
    }
    yield { segments: decoded, verb: "" };
  }
}

/** The nodes that segments lead to, in order of precedence. */
function nodesAt<T>(
  node: Node<T>,
  segments: readonly string[],
  depth = 0,
  found: Node<T>[] = [],
): Node<T>[] {
  const segment = segments[depth];
  const literal = segment === undefined ? undefined : node.literals.get(segment);
  if (segment === undefined) found.push(node);
  if (literal !== undefined) nodesAt(literal, segments, depth + 1, found);
  // An empty segment does not match.
  if (segment && node.any !== undefined) nodesAt(node.any, segments, depth + 1, found);
  if (node.rest !== undefined) found.push(node.rest);
  return found;
}

function createNode<T>(): Node<T> {
  return { literals: new Map(), any: undefined, rest: undefined, ends: new Map() };
}

/** A segment with invalid percent-encoding stays unchanged: no literal contains a bare `%`. */
function decodeSegment(raw: string): string {
  try {
    return raw.includes("%") ? decodeURIComponent(raw) : raw;
  } catch {
    return raw;
  }
}
