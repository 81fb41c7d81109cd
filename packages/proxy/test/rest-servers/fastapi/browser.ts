/** A page's program: calls the command by what browsers have for RPC, and shows what it heard. */
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import {
  CatalogService,
  ListVolumesRequestSchema,
} from "../../../../gateway/test/gen/library/v1/catalog_pb.ts";

const baseUrl = new URLSearchParams(location.search).get("at") ?? "";
const parent = "shelves/browser";

/** As grpc-dotnet's GrpcWebHandler sends them. */
const asDotnet: Interceptor = (next) => (request) => {
  request.header.set("grpc-accept-encoding", "identity,gzip,deflate");
  request.header.set("grpc-previous-rpc-attempts", "1");
  return next(request);
};

const connect = createClient(CatalogService, createConnectTransport({ baseUrl }));
const dotnet = createClient(
  CatalogService,
  createGrpcWebTransport({ baseUrl, interceptors: [asDotnet], defaultTimeoutMs: 30_000 }),
);

async function call(catalog: typeof connect): Promise<string> {
  const { volumes } = await catalog.listVolumes({ parent, pageSize: 3 });
  const missing = await catalog.getVolume({ name: `${parent}/volumes/1` }).catch(String);
  return [...volumes.map(({ id, title }) => `${id} ${title}`), missing].join("|");
}

/** As Google's grpc-web does: base64, also of the trailers. */
async function callAsText(): Promise<string> {
  const request = create(ListVolumesRequestSchema, { parent, pageSize: 3 });
  const message = toBinary(ListVolumesRequestSchema, request);
  const response = await fetch(`${baseUrl}/library.v1.CatalogService/ListVolumes`, {
    method: "POST",
    headers: {
      "content-type": "application/grpc-web-text",
      "x-grpc-web": "1",
      "x-user-agent": "grpc-web-javascript/0.1",
      "grpc-timeout": "30S",
    },
    body: btoa(String.fromCharCode(0, 0, 0, 0, message.length, ...message)),
  });
  const parts = (await response.text()).match(/[^=]+=*/g) ?? [];
  return /grpc-status: ?0/.test(parts.map(atob).join("")) ? "as text" : "no status";
}

await connect.createVolume({ parent, volume: { id: 9007199254740993n, title: "é" } });
const heard = [await call(connect), await call(dotnet), await callAsText()];
document.body.textContent = heard.join("\n");
