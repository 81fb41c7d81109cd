/** The types that `google.protobuf.Any` and extensions may have in JSON. */
import { createMutableRegistry, type DescFile, type Registry } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { file_google_rpc_status } from "../../gen/google/rpc/status_pb.ts";

export class TypeRegistry {
  readonly registry = createMutableRegistry();
  readonly #added = new Set<DescFile | Registry>();

  constructor(...files: readonly DescFile[]) {
    const own = [file_google_rpc_error_details, file_google_rpc_status];
    for (const file of [...own, ...files]) this.addFile(file);
  }

  /** Adds the types of a file and of its imports, unless an application has added them. */
  addFile(file: DescFile): void {
    if (this.#added.has(file)) return;
    this.#added.add(file);
    for (const type of nestedTypes(file)) {
      if (this.registry.get(type.typeName) === undefined) this.registry.add(type);
    }
    for (const dependency of file.dependencies) this.addFile(dependency);
  }

  /** Where two declare one name, that of this registry counts. */
  before(first: Registry): Registry {
    const { registry } = this;
    const getMessage = (name: string) => first.getMessage(name) ?? registry.getMessage(name);
    const getExtension = (name: string) => first.getExtension(name) ?? registry.getExtension(name);
    const getExtensionFor: Registry["getExtensionFor"] = (of, number) =>
      first.getExtensionFor(of, number) ?? registry.getExtensionFor(of, number);
    return Object.assign(Object.create(registry), { getMessage, getExtension, getExtensionFor });
  }

  addAll(registry: Registry | undefined): void {
    if (registry === undefined || this.#added.has(registry)) return;
    this.#added.add(registry); // that of all services of an upstream
    for (const type of registry) this.registry.add(type);
  }
}
