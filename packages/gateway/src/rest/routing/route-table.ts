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
 * precedes `**`. If a branch leads nowhere, or only to another method, the search backtracks. No
 * node is visited more than once, or twice for a path that ends in a verb.
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
    const isLiteral = segments.every(({ kind }) => kind === "literal");
    if (isLiteral && !text.includes("%")) this.#literals.set(text, methods);
    return true;
  }

  /** @param path The raw path of the request target, without its query. */
  match(method: string, path: string): T | undefined {
    return this.#literals.get(path)?.get(method) ?? this.#search(path, method);
  }

  methodsOf(path: string): ReadonlyMap<string, T> {
    const all = new Map<string, T>();
    this.#search(path, undefined, all);
    return all;
  }

  #search(path: string, method: string | undefined, all?: Map<string, T>): T | undefined {
    if (!path.startsWith("/")) return undefined;
    for (const { segments, verb } of this.#readings(path)) {
      const found = find(this.#root, 0, { method, segments, verb, all });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The last segment may end in a verb of some route. Otherwise a colon is part of the segment. */
  *#readings(path: string): Generator<{ segments: string[]; verb: string }> {
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

interface Search<T> {
  readonly method: string | undefined;
  readonly segments: readonly string[];
  readonly verb: string;
  /** Collects the methods of the routes that match. */
  readonly all: Map<string, T> | undefined;
}

function find<T>(node: Node<T>, depth: number, search: Search<T>): T | undefined {
  const segment = search.segments[depth];
  if (segment === undefined) return choose(node, search) ?? choose(node.rest, search);
  const literal = node.literals.get(segment);
  const any = segment === "" ? undefined : node.any; // an empty segment does not match
  return (
    (literal && find(literal, depth + 1, search)) ??
    (any && find(any, depth + 1, search)) ??
    choose(node.rest, search)
  );
}

function choose<T>(node: Node<T> | undefined, search: Search<T>): T | undefined {
  const { verb, method, all } = search;
  const methods = node?.ends.get(verb);
  if (methods === undefined) return undefined;
  const get = methods.get("GET");
  if (all !== undefined) {
    for (const [name, value] of methods) all.set(name, value);
    if (get !== undefined) all.set("HEAD", get);
  }
  if (method === undefined) return undefined;
  // RFC 9110 section 9.3.2: HEAD is GET without the body of its answer.
  return methods.get(method) ?? (method === "HEAD" ? get : undefined) ?? methods.get("*");
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
