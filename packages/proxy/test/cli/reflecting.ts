/** Servers whose reflection tells files of every kind. */
import { create, setExtension, toBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import { ServerReflection } from "connect-gateway/reflection";
import { http } from "../../../gateway/gen/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../../../gateway/gen/google/api/http_pb.ts";

/** A file with one service, `odd.v1.OddService` of a package of that name, whose method `Echo` has this path. */
export function oddFile({
  name = "odd",
  path = "",
  dependency = [""],
  type = "",
  messageType = [] as object[],
} = {}): FileDescriptorProto {
  const inputType = type || `.${name}.v1.Odd`;
  const options = create(MethodOptionsSchema);
  if (path !== "") {
    setExtension(options, http, create(HttpRuleSchema, { pattern: { case: "get", value: path } }));
  }
  return create(FileDescriptorProtoSchema, {
    name: `${name}.proto`,
    package: `${name}.v1`,
    syntax: "proto3",
    dependency: ["google/api/annotations.proto", ...dependency.filter(Boolean)],
    messageType: [
      { name: "Odd", field: [{ name: "text", jsonName: "text", number: 1, type: 9, label: 1 }] },
      ...messageType,
    ],
    service: [
      { name: "OddService", method: [{ name: "Echo", inputType, outputType: inputType, options }] },
    ],
  });
}

function servicesIn(files: readonly FileDescriptorProto[]): string[] {
  return files.flatMap((file) => file.service.map(({ name }) => `${file.package}.${name}`));
}

/**
 * Tells each file alone, by its name or by what it declares; and lists all its services, or these names:
 * then another file is told of what none declares.
 */
export function reflecting(
  files: () => readonly FileDescriptorProto[],
  names?: readonly string[],
): ServiceImpl<typeof ServerReflection> {
  return {
    async *serverReflectionInfo(requests) {
      for await (const { messageRequest: asked } of requests) {
        const service = (names ?? servicesIn(files())).map((name) => ({ name }));
        const found =
          files().find((file) =>
            asked.case === "fileByFilename"
              ? file.name === asked.value
              : [...file.service, ...file.messageType].some(
                  ({ name }) => `${file.package}.${name}` === asked.value,
                ),
          ) ?? (names && asked.case === "fileContainingSymbol" ? files()[0] : undefined);
        const error = { errorCode: Code.NotFound, errorMessage: "no such file" };
        yield asked.case === "listServices"
          ? { messageResponse: { case: "listServicesResponse", value: { service } } }
          : found === undefined
            ? { messageResponse: { case: "errorResponse", value: error } }
            : {
                messageResponse: {
                  case: "fileDescriptorResponse",
                  value: { fileDescriptorProto: [toBinary(FileDescriptorProtoSchema, found)] },
                },
              };
      }
    },
  };
}

export function addReflecting(router: ConnectRouter, ...told: Parameters<typeof reflecting>) {
  return router.service(ServerReflection, reflecting(...told));
}
