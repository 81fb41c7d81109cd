import { findProductionPackages, type Lock, type LockedPackage } from "./lock.ts";

/** Fields of package.json. */
export interface Subject {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly description: string;
}

/**
 * A bill of materials in CycloneDX 1.5 (JSON) of what users install: the package and everything
 * installed with it. Versions are those of the lock, which were tested and
 * are in the image. npm may install later versions of transitive dependencies. The same lock gives
 * the same document: it has no time and no serial number, so that two builds can be compared.
 */
export function createSbom(subject: Subject, lock: Lock): object {
  const packages = findProductionPackages(lock);
  const refs = new Map(packages.map(({ path, name, locked }) => [path, refOf(name, locked)]));
  const dependsOn = (paths: readonly string[]) =>
    paths.map((path) => refs.get(path) ?? path).sort();
  const own = `${subject.name}@${subject.version}`;
  const direct = Object.keys(lock.packages[""]?.dependencies ?? {}).map(
    (name) => `node_modules/${name}`,
  );
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      lifecycles: [{ phase: "build" }],
      component: {
        type: "application",
        "bom-ref": own,
        name: subject.name,
        version: subject.version,
        description: subject.description,
        licenses: [{ license: { id: subject.license } }],
        purl: purlOf(subject.name, subject.version),
      },
    },
    components: packages.map(({ name, locked }) => componentOf(name, locked)),
    dependencies: [
      { ref: own, dependsOn: dependsOn(direct) },
      ...packages.map(({ name, locked, needs }) => ({
        ref: refOf(name, locked),
        dependsOn: dependsOn(needs),
      })),
    ],
  };
}

function componentOf(name: string, locked: LockedPackage): object {
  const { version = "", license, integrity = "", optional } = locked;
  const [algorithm = "", hash = ""] = integrity.split("-", 2);
  return {
    type: "library",
    "bom-ref": refOf(name, locked),
    name,
    version,
    scope: optional ? "optional" : "required",
    // Our own packages are packed after the bill is created.
    ...(integrity !== "" && {
      hashes: [
        {
          alg: algorithm.toUpperCase().replace("SHA", "SHA-"),
          content: Buffer.from(hash, "base64").toString("hex"),
        },
      ],
    }),
    ...(license !== undefined && { licenses: [licenseOf(license)] }),
    purl: purlOf(name, version),
  };
}

function licenseOf(license: string): object {
  return /\s/.test(license) ? { expression: license } : { license: { id: license } };
}

function refOf(name: string, { version }: LockedPackage): string {
  return `${name}@${version}`;
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}
