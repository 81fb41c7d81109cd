/** Calls of every protocol, with the expected names and attributes of their spans. */
import { Code, ConnectError } from "@connectrpc/connect";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { envelope } from "../support/envelope.ts";
import { openGateway, type SentRequest, type TestGatewayOptions } from "../support/gateway.ts";
import { createTestLibrary } from "../support/library.ts";

export interface DescribedCall {
  readonly request: SentRequest;
  /** The name of its span. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export function openLibrary(options: Partial<TestGatewayOptions>) {
  return openGateway({
    routes: (router) => {
      router.service(LibraryService, {
        ...createTestLibrary(),
        closeLibrary: () => Promise.reject(new ConnectError("no", Code.FailedPrecondition)),
        updateLibrary: () => Promise.reject(new ConnectError("late", Code.DeadlineExceeded)),
        searchBooks: () => Promise.reject(new ConnectError("left", Code.Canceled)),
        addBooks: () => Promise.reject(new ConnectError("odd", 99 as Code)),
        async *followBook(book) {
          yield book;
          if (book.title === "bad") throw new ConnectError("torn", Code.DataLoss);
        },
      });
      router.service(CatalogService, {
        async *watchVolumes({ parent }) {
          yield { title: "Dune" };
          if (parent === "shelves/bad") throw new ConnectError("torn", Code.DataLoss);
        },
      });
    },
    ...options,
  });
}

type RpcProtocol = "grpc" | "grpc-web" | "connect";

/** A call of RPC: the attributes of its method are those of its end, too. */
function rpc(
  method: string,
  protocol: RpcProtocol,
  ending: Readonly<Record<string, string>>,
  request: Pick<SentRequest, "headers" | "body">,
): DescribedCall {
  const name = `library.v1.LibraryService/${method}`;
  const system = protocol === "connect" ? "connectrpc" : "grpc";
  return {
    name,
    request: { path: `/${name}`, ...request },
    attributes: { "rpc.system.name": system, "rpc.method": name, ...ending },
  };
}

function rest(method: string, route: string, status: number) {
  const { attributes } = uncalled(method, method, status);
  return { name: `${method} ${route}`, attributes: { ...attributes, "http.route": route } };
}

function uncalled(name: string, method: string, status: number) {
  const about = { "http.request.method": method, "http.response.status_code": status };
  return { name, attributes: { ...about, "url.scheme": "http" } };
}

function unary(method: string, protocol: RpcProtocol, ending: Readonly<Record<string, string>>) {
  const isConnect = protocol === "connect";
  const type = isConnect ? "application/json" : `application/${protocol}+json`;
  const body = isConnect ? "{}" : envelope("{}");
  return rpc(method, protocol, ending, { headers: { "content-type": type }, body });
}

function stream(
  title: "good" | "bad",
  protocol: RpcProtocol,
  ending: Readonly<Record<string, string>>,
) {
  const headers = { "content-type": `application/${protocol}+json` };
  return rpc("FollowBook", protocol, ending, {
    headers,
    body: envelope(JSON.stringify({ title })),
  });
}

const get = (path: string): SentRequest => ({ method: "GET", path });
const shelf = "/v1/{parent=shelves/*}/volumes:watch";

export const describedCalls: readonly DescribedCall[] = [
  unary("GetLibrary", "grpc", { "rpc.status_code": "OK" }),
  unary("GetLibrary", "grpc-web", { "rpc.status_code": "OK" }),
  unary("GetLibrary", "connect", {}),
  { request: get("/v1/library?access_token=secret"), ...rest("GET", "/v1/library", 400) },
  { request: get("/v1/library"), ...rest("GET", "/v1/library", 200) },
  // Rejections are not failures of the service.
  unary("CloseLibrary", "grpc", { "rpc.status_code": "FAILED_PRECONDITION" }),
  unary("CloseLibrary", "connect", { "rpc.status_code": "failed_precondition" }),
  { request: { method: "DELETE", path: "/v1/library" }, ...rest("DELETE", "/v1/library", 400) },
  unary("SearchBooks", "grpc", { "rpc.status_code": "CANCELLED" }),
  unary("SearchBooks", "connect", { "rpc.status_code": "canceled" }),
  // These are failures of the service.
  unary("UpdateLibrary", "grpc-web", {
    "rpc.status_code": "DEADLINE_EXCEEDED",
    "error.type": "DEADLINE_EXCEEDED",
  }),
  unary("UpdateLibrary", "connect", {
    "rpc.status_code": "deadline_exceeded",
    "error.type": "deadline_exceeded",
  }),
  unary("AddBooks", "grpc", { "rpc.status_code": "UNKNOWN", "error.type": "UNKNOWN" }),
  // Streams, until their end.
  stream("good", "grpc", { "rpc.status_code": "OK" }),
  stream("good", "connect", {}),
  stream("bad", "grpc-web", { "rpc.status_code": "DATA_LOSS", "error.type": "DATA_LOSS" }),
  stream("bad", "connect", { "rpc.status_code": "data_loss", "error.type": "data_loss" }),
  { request: get("/v1/shelves/sf/volumes:watch"), ...rest("GET", shelf, 200) },
  {
    request: get("/v1/shelves/bad/volumes:watch"),
    name: `GET ${shelf}`,
    attributes: { ...rest("GET", shelf, 200).attributes, "error.type": "DATA_LOSS" },
  },
  // Nothing is called: the path may be anything.
  { request: get("/v1/secret"), ...uncalled("GET", "GET", 404) },
  { request: { method: "QUERY", path: "/v1/library" }, ...uncalled("QUERY", "QUERY", 405) },
  { request: { method: "PROPFIND", path: "/v1/library" }, ...uncalled("HTTP", "_OTHER", 405) },
  {
    request: {
      path: "/library.v1.LibraryService/Secret",
      headers: { "content-type": "application/grpc" },
    },
    name: "grpc",
    attributes: {
      "rpc.system.name": "grpc",
      "rpc.method": "_OTHER",
      "rpc.status_code": "UNIMPLEMENTED",
      "error.type": "UNIMPLEMENTED",
    },
  },
];
