import type { DescFile } from "@bufbuild/protobuf";
import * as wellKnownTypes from "@bufbuild/protobuf/wkt";
import {
  file_google_api_annotations,
  file_google_api_field_behavior,
  file_google_api_httpbody,
  file_google_rpc_error_details,
  file_google_rpc_status,
} from "connect-gateway/protos";

/**
 * Files that everybody imports, by name. Descriptor sets without imports lack them, and so do
 * servers whose language has no code for a file that is imported for its options alone.
 */
export const wellKnownFiles: ReadonlyMap<string, wellKnownTypes.FileDescriptorProto> = new Map(
  withImports([
    ...Object.values(wellKnownTypes).filter(isFile),
    file_google_api_annotations,
    file_google_api_field_behavior,
    file_google_api_httpbody,
    file_google_rpc_error_details,
    file_google_rpc_status,
  ]).map(({ proto }) => [proto.name, proto]),
);

function isFile(value: object): value is DescFile {
  return "kind" in value && value.kind === "file";
}

function withImports(files: readonly DescFile[]): readonly DescFile[] {
  return [...files, ...files.flatMap(({ dependencies }) => withImports(dependencies))];
}
