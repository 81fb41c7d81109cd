import { create, type DescFile, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** A serialized `google.protobuf.FileDescriptorSet` of files and what they import. */
export function descriptorSetOf(...files: readonly DescFile[]): Uint8Array {
  const found = new Set<FileDescriptorProto>();
  const add = ({ proto, dependencies }: DescFile) => {
    for (const file of dependencies) add(file);
    found.add(proto);
  };
  for (const file of files) add(file);
  return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [...found] }));
}
