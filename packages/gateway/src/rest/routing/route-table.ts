import type { PathTemplate, Segment } from "../rule/path-template.ts";

/** The result of a lookup. A 404 and a 405 come from the same place as a match. */
export type RouteMatch<T> =
  | {
      readonly kind: "found";
      readonly value: T;
      /** The segments of the path, raw, without the verb. */
      readonly segments: readonly string[];
      /** The methods that the path supports. */
      readonly allow: readonly string[];
    }
  | {
      readonly kind: "method_not_allowed";
      readonly allow: readonly string[];
      /** Of one of these methods. */
      readonly value: T;
    }
  | { readonly kind: "not_found" };

/** Stands for every method in a route. */
const anyMethod = "*";

/** The routes that end at a node: by verb (`""` for none), then by method. */
type Ends<T> = Map<string, Map<string, T>>;

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  any: Node<T> | undefined;
  /** Routes whose last segment is this node. */
  readonly ends: Ends<T>;
  /** Routes that continue with `**`. */
  readonly rests: Ends<T>;
}

/**
 * Maps an HTTP method and path to a handler.
 *
 * A trie over segments. A literal precedes `*`, and `*` precedes `**`. If a branch leads nowhere,
 * or only to another method, the search backtracks.
 *
 * The cost of a lookup depends on the length of the path, not on the number of routes, unless a
 * literal and `*` are alternatives. Each such segment in the path may double the cost. No node is
 * visited more than once, or twice for a path that ends in a verb, so the total number of segments
 * of all routes is the upper bound.
 */
export class RouteTable<T extends object> {
  readonly #root: Node<T> = createNode();
  readonly #verbs = new Set<string>();
  /** Paths without variables, with their values; and the matches found so far, by path and method. */
  readonly #literals = new Set<T>();
  readonly #known = new Map<string, Map<string, RouteMatch<T>>>();

  /** @returns false if the method and path already have a route. */
  add(method: string, { segments, verb = "" }: PathTemplate, value: T): boolean {
    if (verb !== "") this.#verbs.add(verb);
    const ends = endsOf(this.#root, segments);
    const methods = ends.get(verb) ?? new Map<string, T>();
    ends.set(verb, methods);
    if (methods.has(method)) return false;
    methods.set(method, value);
    if (segments.every(({ kind }) => kind === "literal")) this.#literals.add(value);
    this.#known.clear();
    return true;
  }

  /** @param path The raw path of the request target, without its query. */
  match(method: string, path: string): RouteMatch<T> {
    const known = this.#known.get(path)?.get(method);
    if (known !== undefined) return known;
    const match = this.#search(method, path);
    if (match.kind === "found" && this.#isBounded(method, path, match)) {
      const byMethod = this.#known.get(path) ?? new Map<string, RouteMatch<T>>();
      this.#known.set(path, byMethod.set(method, match));
    }
    return match;
  }

  /** Whether the number of such matches is bounded, whatever strangers request. */
  #isBounded(method: string, path: string, match: RouteMatch<T> & { kind: "found" }): boolean {
    return !path.includes("%") && this.#literals.has(match.value) && match.allow.includes(method);
  }

  #search(method: string, path: string): RouteMatch<T> {
    if (!path.startsWith("/")) return { kind: "not_found" };
    const allow = new Map<string, T>();
    for (const { segments, verb } of this.#readings(path)) {
      const decoded = segments.map(decodeSegment);
      const value = find(this.#root, 0, { method, segments: decoded, verb, allow });
      if (value !== undefined) return { kind: "found", value, segments, allow: [...allow.keys()] };
    }
    const [other] = allow.values();
    if (other !== undefined) {
      return { kind: "method_not_allowed", allow: [...allow.keys()].sort(), value: other };
    }
    return { kind: "not_found" };
  }

  /** The last segment may end in a verb of some route. Otherwise a colon is part of the segment. */
  *#readings(path: string): Generator<{ segments: string[]; verb: string }> {
    const segments = path === "/" ? [] : path.slice(1).split("/");
    const last = segments.at(-1) ?? "";
    const colon = last.lastIndexOf(":");
    const verb = colon < 0 ? "" : decodeSegment(last.slice(colon + 1));
    if (this.#verbs.has(verb)) {
      yield { segments: segments.with(-1, last.slice(0, colon)), verb };
    }
    yield { segments, verb: "" };
  }
}

interface Search<T> {
  readonly method: string;
  readonly segments: readonly string[];
  readonly verb: string;
  /** Collects the methods of the routes that match except for the method. */
  readonly allow: Map<string, T>;
}

function find<T>(node: Node<T>, depth: number, search: Search<T>): T | undefined {
  const segment = search.segments[depth];
  if (segment === undefined) return choose(node.ends, search) ?? choose(node.rests, search);
  const literal = node.literals.get(segment);
  const any = segment === "" ? undefined : node.any; // an empty segment does not match
  return (
    (literal && find(literal, depth + 1, search)) ??
    (any && find(any, depth + 1, search)) ??
    choose(node.rests, search)
  );
}

function choose<T>(ends: Ends<T>, { verb, method, allow }: Search<T>): T | undefined {
  const methods = ends.get(verb);
  if (methods === undefined) return undefined;
  for (const [name, value] of methods) allow.set(name, value);
  const get = methods.get("GET");
  if (get !== undefined) allow.set("HEAD", get);
  // RFC 9110 section 9.3.2: HEAD is GET without the body of its answer.
  const asGet = method === "HEAD" ? get : undefined;
  return methods.get(method) ?? asGet ?? methods.get(anyMethod);
}

/** The place for routes with these segments. Created if missing. */
function endsOf<T>(root: Node<T>, segments: readonly Segment[]): Ends<T> {
  let node = root;
  for (const segment of segments) {
    switch (segment.kind) {
      case "literal": {
        const next = node.literals.get(segment.value) ?? createNode<T>();
        node.literals.set(segment.value, next);
        node = next;
        break;
      }
      case "any":
        node.any ??= createNode();
        node = node.any;
        break;
      case "rest":
        return node.rests; // the grammar allows nothing after it
    }
  }
  return node.ends;
}

function createNode<T>(): Node<T> {
  return { literals: new Map(), any: undefined, ends: new Map(), rests: new Map() };
}

/** A segment with invalid percent-encoding stays unchanged: no literal contains a bare `%`. */
function decodeSegment(raw: string): string {
  try {
    return raw.includes("%") ? decodeURIComponent(raw) : raw;
  } catch {
    return raw;
  }
}
