import { type ConnectRouter, createConnectRouter } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { collectEndpoints } from "../src/rpc/endpoint.ts";
import { FieldService } from "./gen/library/v1/fields_pb.ts";
import { LibraryService } from "./gen/library/v1/library_pb.ts";
import { openGateway } from "./support/gateway.ts";

const headers = { "content-type": "application/json" };

describe("registered routes", () => {
  const { service, rpc } = { service: FieldService, rpc: LibraryService.method.countBooks };

  test("become endpoints in their order, with the paths of connect-es", () => {
    const routes = (router: ConnectRouter) =>
      router.service(service, {}).rpc(rpc, () => ({ count: 1n }));
    const endpoints = collectEndpoints({}, routes);
    const stockRouter = createConnectRouter({});
    routes(stockRouter);
    expect(endpoints.map(({ rpc }) => rpc.requestPath)).toEqual(
      stockRouter.handlers.map(({ requestPath }) => requestPath),
    );
    expect(endpoints.map(({ spec }) => spec.kind)).toEqual([
      ...["unary", "client_streaming", "server_streaming", "bidi_streaming", "unary"],
    ]);
  });

  test("can be read from the router, as in connect-es", () => {
    collectEndpoints({}, (router) => {
      router.service(service, {});
      expect(router.handlers.map(({ method }) => method.name)).toEqual([
        ...["Echo", "Collect", "Repeat", "Exchange"],
      ]);
    });
  });

  test("keep `this` of an implementation that is a class, and lack what it does not implement", async () => {
    class Library {
      readonly #count = 9007199254740993n;
      countBooks() {
        return { count: this.#count };
      }
    }
    await using gateway = await openGateway({
      routes: (router) => router.service(LibraryService, new Library()),
    });
    const send = (method: string) =>
      gateway.send({ path: `/library.v1.LibraryService/${method}`, headers, body: "{}" });
    expect(`${(await send("CountBooks")).body}`).toBe('{"count":"9007199254740993"}');
    expect(await send("GetLibrary")).toMatchObject({ status: 501 });
  });
});
