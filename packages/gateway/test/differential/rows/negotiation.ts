/** The handler for a request: path, method, content type, protocol version. */
import { echoPath, updatePath } from "../request.ts";
import { createRow, isConnect, isGet, isHttp1, isPost, type Row, unlike } from "./table.ts";

const contentTypes = [
  ...["application/json", "application/proto", "application/json; charset=utf-8"],
  ...["application/json;charset=utf8", "application/json;charset=UTF-8", "APPLICATION/JSON"],
  ...["application/json; charset=latin1", "application/json;  charset=utf-8", "application/json;"],
  ...["application/json ; charset=utf-8", "application/json; charset=utf-8; a=b", "text/plain"],
  ...["application/proto; charset=utf-8", "application/protobuf", "application/x-protobuf"],
  ...["application/connect+proto", "application/connect+json", "application/connectjson"],
  ...["application/connect", "application/connectproto", "Application/Connect+Json;charset=utf8"],
  ...["application/grpc", "application/grpc+proto", "application/grpc+json", "application/grpc+"],
  ...["Application/GRPC+Proto", "application/grpc+json; charset=utf-8", "application/grpc;a=b"],
  ...["application/grpc+proto; charset=utf-8", "application/grpc+thrift", "application/grpcweb"],
  ...["application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json"],
  ...["APPLICATION/GRPC-WEB+JSON;CHARSET=UTF-8", "application/grpc-web; charset=utf-8", "json", ""],
  ...["application/jsonp", "xapplication/json", "application/json, application/proto", "*/*"],
];

const byContentType = contentTypes.map((type) =>
  createRow({
    what: `content type ${JSON.stringify(type)}`,
    on: isPost,
    call: { headers: [["content-type", type]] },
    setup: { gate: true },
  }),
);

const methods = ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "get", "post", "PROPFIND"];

const byMethod = methods.map((method) =>
  createRow({
    what: `method ${method}`,
    change: (request) => ({
      ...request,
      method,
      ...(method === "GET" || method === "HEAD"
        ? { body: [], framing: "none", path: request.path }
        : {}),
    }),
    // Over HTTP/1.1, Node rejects an unknown method before any handler.
    on: (door) => isPost(door) && !(isHttp1(door) && /^[a-z]/.test(method)),
  }),
);

const getWithBody = createRow({
  what: "GET that has a body and a content type",
  on: isGet,
  change: (request) => ({
    ...request,
    framing: "length",
    headers: [...request.headers, ["content-type", "application/json"]],
    body: [Buffer.from("{}")],
  }),
});

const getTypes = [
  ...["application/json", "application/proto", "application/grpc", "text/plain", ""],
  ...["application/connect+json", "application/grpc-web-text"],
].map((type) =>
  createRow({
    what: `GET with content type ${JSON.stringify(type)}`,
    on: isGet,
    call: { headers: [["content-type", type]] },
  }),
);

const paths: readonly (readonly [what: string, path: string])[] = [
  ["with a query", `${echoPath}?a=b&encoding=json&message=x`],
  ["with two question marks", `${echoPath}?a?b`],
  ["with an empty query", `${echoPath}?`],
  ["of a method without GET", updatePath],
  ["of another service", "/library.v1.LibraryService/CountBooks"],
  ["of a method that is not implemented", "/library.v1.LibraryService/AddBooks"],
  ["of a stream of answers", "/library.v1.FieldService/Repeat"],
  ["of a stream of requests", "/library.v1.FieldService/Collect"],
  ["of a stream both ways", "/library.v1.FieldService/Exchange"],
];

const byPath = paths.map(([what, path]) =>
  createRow({ what: `path ${what}`, setup: { gate: true, interceptors: 1 }, call: { path } }),
);

const unknownPaths = [
  ...["/", "/library.v1.FieldService/echo", "/library.v1.FieldService/Echo/", "/elsewhere?a=b"],
  ...[
    "//library.v1.FieldService/Echo",
    "/library.v1.FieldService%2FEcho",
    "/library.v1.FieldService",
  ],
  ...["/x/library.v1.FieldService/Echo"],
].map((path) =>
  createRow({ what: `${path} and a fallback`, setup: { fallback: true }, call: { path } }),
);

const versions = ["1", "v1", "2", "", "01", "1, 1"].map((version) =>
  createRow({
    unlike: version === "1" ? undefined : unlike.refusal,
    what: `protocol version ${JSON.stringify(version)}, required`,
    setup: { requireConnectProtocolHeader: true, gate: true },
    call: (door) =>
      isGet(door)
        ? { query: [["connect", version]] }
        : { headers: [["connect-protocol-version", version]] },
  }),
);

const noVersion = [true, false].map((requireConnectProtocolHeader) =>
  createRow({
    unlike: requireConnectProtocolHeader ? unlike.refusal : undefined,
    what: `no protocol version, ${requireConnectProtocolHeader ? "" : "not "}required`,
    setup: { requireConnectProtocolHeader },
  }),
);

const wrongVersion = createRow({
  what: "wrong protocol version, not required",
  on: isConnect,
  call: { headers: [["connect-protocol-version", "7"]] },
});

const twice = createRow({
  what: "two content types",
  change: (request) => ({
    ...request,
    headers: [...request.headers, ["content-type", "application/json"]],
  }),
  on: isHttp1,
});

const withoutType = createRow({
  what: "no content type",
  call: { headers: [["content-type", null]] },
});

const withoutTe = createRow({ what: "no te", call: { headers: [["te", null]] } });

const switches = [
  { connect: false },
  { grpc: false },
  { grpcWeb: false },
  { grpc: false, grpcWeb: false },
  { connect: false, grpc: false },
  { connect: false, grpcWeb: false },
].flatMap((setup) => [
  createRow({ what: `only some protocols: ${JSON.stringify(setup)}`, setup }),
  createRow({
    what: `only some protocols, and no content type: ${JSON.stringify(setup)}`,
    setup,
    call: { headers: [["content-type", null]] },
  }),
  createRow({
    what: `only some protocols for the service: ${JSON.stringify(setup)}`,
    setup: { service: setup },
  }),
  createRow({
    what: `some protocols for the router, options for the service: ${JSON.stringify(setup)}`,
    setup: { ...setup, service: { maxTimeoutMs: 1000 } },
  }),
]);

const http10 = createRow({
  what: "HTTP/1.0",
  on: isHttp1,
  change: (request) => ({ ...request, http: "1.0" }),
});

export const negotiationRows: readonly Row[] = [
  ...byContentType,
  ...byMethod,
  getWithBody,
  ...getTypes,
  ...byPath,
  ...unknownPaths,
  ...versions,
  ...noVersion,
  wrongVersion,
  twice,
  withoutType,
  withoutTe,
  ...switches,
  http10,
];
