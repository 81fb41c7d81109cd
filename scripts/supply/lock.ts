/** The part of package-lock.json that says what users install. */
export interface Lock {
  /** By installation path; "" is this package. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly resolved?: string;
  /** A workspace, whose path is in `resolved`. */
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Ranges;
  readonly optionalDependencies?: Ranges;
  readonly peerDependencies?: Ranges;
}

export type Ranges = Readonly<Record<string, string>>;

/** A package of the production tree, with its dependencies. */
export interface ProductionPackage {
  readonly path: string;
  readonly name: string;
  /** For a workspace, the entry of its directory. */
  readonly locked: LockedPackage;
  /** Whether it is a workspace that is published with this package. */
  readonly isOurs: boolean;
  /** Paths. */
  readonly needs: readonly string[];
}

/**
 * Everything that is installed with this package, without the package itself: all packages
 * reachable from its dependencies. Workspaces with development tools are not.
 */
export function findProductionPackages({ packages }: Lock): readonly ProductionPackage[] {
  const found = new Map<string, ProductionPackage>();
  const open = needsOf("");
  for (const path of open) {
    const linked = packages[path];
    if (linked === undefined || found.has(path)) continue;
    const folder = linked.resolved ?? "";
    const isOurs = linked.link === true && packages[""]?.workspaces?.includes(folder) === true;
    const locked = isOurs ? (packages[folder] ?? {}) : linked;
    const needs = needsOf(isOurs ? folder : path);
    found.set(path, { path, name: nameOf(path), locked, isOurs, needs });
    open.push(...needs);
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));

  function needsOf(path: string): string[] {
    const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    const needs = names.map((name) => [name, resolve(path, name)] as const);
    for (const [name, resolved] of needs) {
      if (resolved === undefined && dependencies?.[name] !== undefined) {
        throw new Error(`the lock has no ${name}, which ${path || "this package"} depends on`);
      }
    }
    return needs.flatMap(([, resolved]) => resolved ?? []);
  }

  /** Resolves a package like Node: from the directory of the importer upwards. */
  function resolve(from: string, name: string): string | undefined {
    const folders = from.split("/node_modules/");
    for (let depth = from === "" ? 0 : folders.length; depth >= 0; depth--) {
      const folder = folders.slice(0, depth).join("/node_modules/");
      const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
      if (packages[path] !== undefined) return path;
    }
    return undefined;
  }
}

/** Returns `@b/c` for `node_modules/a/node_modules/@b/c`. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}
