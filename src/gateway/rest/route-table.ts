/** The outcome of one look-up: a 404 and a 405 come from the same place as a match. */
export type RouteMatch<T> =
  | { readonly kind: "found"; readonly value: T }
  | { readonly kind: "method_not_allowed"; readonly allow: readonly string[] }
  | { readonly kind: "not_found" };

/** HTTP method and path -> what serves it. */
export class RouteTable<T> {
  readonly #methodsByPath = new Map<string, Map<string, T>>();

  /** @returns false if the method and path are taken. */
  add(method: string, path: string, value: T): boolean {
    const methods = this.#methodsByPath.get(path) ?? new Map<string, T>();
    this.#methodsByPath.set(path, methods);
    if (methods.has(method)) return false;
    methods.set(method, value);
    return true;
  }

  /** @param path The raw path of the request target, without its query. */
  match(method: string, path: string): RouteMatch<T> {
    const methods = this.#methodsByPath.get(path);
    if (methods === undefined) return { kind: "not_found" };
    const value = methods.get(method);
    if (value === undefined) return { kind: "method_not_allowed", allow: [...methods.keys()] };
    return { kind: "found", value };
  }
}
