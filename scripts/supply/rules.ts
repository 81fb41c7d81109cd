import { findProductionPackages, type Lock, nameOf, type Ranges } from "./lock.ts";

export interface Manifest {
  readonly path: string;
  readonly dependencies?: Ranges;
  readonly devDependencies?: Ranges;
  readonly optionalDependencies?: Ranges;
  readonly overrides?: Ranges;
}

/**
 * Programs for other platforms that not every registry has. npm omits the hash of what it could not
 * download. They are installed only for development on such a platform. Everything that users
 * install has a hash.
 */
const withoutIntegrity: ReadonlySet<string> = new Set([
  "@biomejs/cli-android-arm64",
  "@biomejs/cli-android-x64",
  "@biomejs/cli-darwin-arm64",
  "@biomejs/cli-darwin-x64",
  "@biomejs/cli-linux-arm64-musl",
  "@biomejs/cli-linux-x64-musl",
  "@biomejs/cli-win32-arm64",
  "@biomejs/cli-win32-x64",
  "@bufbuild/buf-darwin-arm64",
  "@bufbuild/buf-darwin-x64",
  "@bufbuild/buf-linux-armv7",
  "@bufbuild/buf-win32-arm64",
  "@bufbuild/buf-win32-x64",
]);

/** SPDX identifiers. All of these allow users of plant-store what its own license allows. */
const licenses: ReadonlySet<string> = new Set([
  "MIT",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "(Apache-2.0 AND BSD-3-Clause)",
]);

const exact = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

/**
 * @returns a line for each thing that makes an installation less reproducible or safe than
 * required.
 */
export function findSupplyProblems(lock: Lock, manifests: readonly Manifest[]): readonly string[] {
  return [
    ...manifests.flatMap(findRanges),
    ...findUnhashed(lock),
    ...findStrangeSources(lock),
    ...findProductionProblems(lock),
  ];
}

function findRanges({ path, ...manifest }: Manifest): string[] {
  const { dependencies, devDependencies, optionalDependencies, overrides } = manifest;
  const ranges = { ...dependencies, ...devDependencies, ...optionalDependencies, ...overrides };
  return Object.entries(ranges)
    .filter(([, range]) => !exact.test(range))
    .map(([name, range]) => `${path}: ${name} is not pinned to one version: ${range}`);
}

function findUnhashed({ packages }: Lock): string[] {
  const unhashed = Object.entries(packages)
    .filter(([path, { integrity, link }]) => isInstalled(path) && !link && integrity === undefined)
    .map(([path]) => nameOf(path));
  const known = new Set(unhashed);
  return [
    ...unhashed
      .filter((name) => !withoutIntegrity.has(name))
      .map((name) => `package-lock.json: ${name} has no integrity hash`),
    ...[...withoutIntegrity]
      .filter((name) => !known.has(name))
      .map(
        (name) => `${name} has an integrity hash, or is gone: take it off the list of exceptions`,
      ),
  ];
}

/**
 * The lock contains no URLs, so that every package comes from the registry that npm is configured
 * for.
 */
function findStrangeSources({ packages }: Lock): string[] {
  return Object.entries(packages)
    .filter(([, { link, resolved }]) => !link && resolved !== undefined)
    .map(([path, { resolved }]) => `package-lock.json: ${path} comes from ${resolved}`);
}

function findProductionProblems(lock: Lock): string[] {
  const installed = findProductionPackages(lock);
  const scripts = installed.filter(({ locked }) => locked.hasInstallScript);
  const problems = installed.flatMap(({ path, name, locked, isOurs }) => {
    const { integrity, license, link } = locked;
    return [
      link && `${path}: is a folder here, and nothing that users could install`,
      !link &&
        !isOurs &&
        !integrity?.startsWith("sha512-") &&
        `${path}: users install it without a SHA-512`,
      !licenses.has(license ?? "") && `${path}: ${name} has the license ${license ?? "(none)"}`,
    ].filter((problem) => typeof problem === "string");
  });
  return [...scripts.map(({ path }) => `${path}: runs code when it is installed`), ...problems];
}

function isInstalled(path: string): boolean {
  return path.includes("node_modules/");
}
