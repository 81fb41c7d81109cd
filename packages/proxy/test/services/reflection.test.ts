/** The services of an upstream, by its server reflection. */
import { EventEmitter, once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { create, type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { gatewayNodeAdapter } from "connect-gateway";
import { openGrpcTransport } from "connect-gateway/client";
import { addReflection, ServerReflection, ServerReflectionAlpha } from "connect-gateway/reflection";
import { expect, test, vi } from "vitest";
import { file_library_v1_catalog } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { LibraryService } from "../../../gateway/test/gen/library/v1/library_pb.ts";
import { send } from "../../../gateway/test/support/catalog.ts";
import { createEchoService } from "../../../gateway/test/support/echo.ts";
import { openHandler } from "../../../gateway/test/support/gateway.ts";
import { within } from "../../../gateway/test/support/within.ts";
import {
  DescriptorError,
  type Descriptors,
  proxyServices,
  type ReflectionWatchOptions,
  reflectServices,
  watchReflection,
} from "../../src/services/index.ts";
import { addReflecting, oddFile } from "../cli/reflecting.ts";
import { openUpstream } from "./open-proxy.ts";

const both = (router: ConnectRouter) => {
  router.service(FieldService, createEchoService()).service(LibraryService, {});
  addReflection(router);
};

async function openReflected(routes: (router: ConnectRouter) => void) {
  let upstream = await openUpstream(routes);
  const transport = openGrpcTransport({ url: upstream.url });
  return {
    transport,
    /** Another server takes its place. */
    async replace(routes: (router: ConnectRouter) => void) {
      await upstream[Symbol.asyncDispose]();
      upstream = await openUpstream(routes, { port: upstream.port });
    },
    async [Symbol.asyncDispose]() {
      transport.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const namesOf = ({ services }: Descriptors) => services.map(({ typeName }) => typeName).sort();

test("a server that has v1alpha alone is read by that", async () => {
  await using reflected = await openReflected((router) => {
    const recorder = {
      handlers: router.handlers,
      service(service: never, implementation: never, options: never) {
        if (service === ServerReflectionAlpha) router.service(service, implementation, options);
        return recorder;
      },
    } as unknown as ConnectRouter;
    addReflection(recorder, { services: [FieldService] });
  });
  expect(namesOf(await reflectServices(reflected.transport))).toEqual([FieldService.typeName]);
});

/** A server whose reflection lists these names, and tells these files. */
const telling =
  (files: readonly DescFile["proto"][], names: readonly string[]) => (router: ConnectRouter) =>
    addReflecting(router, () => files, names);

const catalogFile = file_library_v1_catalog.proto;
const file = (init: object) => create(FileDescriptorProtoSchema, init);
const shop = ["shop.v1.ShopService"];
const withoutAny = (router: ConnectRouter) => router.service(LibraryService, {});
const failure = new ConnectError("", Code.Unimplemented);
const silent = (router: ConnectRouter) =>
  router.service(ServerReflectionAlpha, { serverReflectionInfo: vi.fn().mockThrow(failure) });

test.each<[what: string, routes: (router: ConnectRouter) => void, message: string]>([
  ["a service that is named and not there", both, "not tell shop.v1.ShopService: nothing"],
  ["a server without reflection", withoutAny, "has no reflection (HTTP status 404 with"],
  ["one that gives no reason", silent, "has no reflection (UNIMPLEMENTED)"],
])("%s is an error that says so", async (_what, routes, message) => {
  await using reflected = await openReflected(routes);
  for (const services of [shop, [FieldService.typeName, ...shop]])
    await expect(reflectServices(reflected.transport, { services })).rejects.toThrow(message);
});

test.each<[what: string, size: number, messages: number, answers: number]>([
  ["10000 files", 1000, 0, 11],
  ["2097152 values in its files", 1, 12_000, 16],
])("of ever more, no more than %s are read", async (what, length, messages, answersMax) => {
  let answers = 0;
  const left = Promise.withResolvers<void>();
  const messageType = Array.from({ length: messages }, () => ({}));
  const endless = (router: ConnectRouter) =>
    router.service(ServerReflection, {
      async *serverReflectionInfo(requests, { signal }) {
        signal.onabort = () => left.resolve();
        for await (const _ of requests) {
          answers++;
          const fileDescriptorProto = Array.from({ length }, (_, index) => {
            const dependency = index === 0 ? [`${answers + 1}/0.proto`] : [];
            const one = file({ name: `${answers}/${index}.proto`, dependency, messageType });
            return toBinary(FileDescriptorProtoSchema, one);
          });
          const value = { fileDescriptorProto };
          yield { messageResponse: { case: "fileDescriptorResponse", value } };
        }
        await left.promise;
      },
    });
  await using reflected = await openReflected(endless);
  const reading = reflectServices(reflected.transport, { services: shop, timeoutMs: 600_000 });
  await expect(reading).rejects.toThrow(new DescriptorError(`more than ${what}`));
  expect(answers).toBe(answersMax);
  await within("the end of the call", left.promise);
});

/** A watch, and what it tells, one after the other. */
function openWatch({
  onChange,
  ...options
}: Partial<ReflectionWatchOptions> & Pick<ReflectionWatchOptions, "transport">) {
  const told: unknown[] = [];
  const events = new EventEmitter();
  const tell = (what: unknown) => {
    told.push(what);
    events.emit("told");
  };
  const watch = watchReflection({
    intervalMs: 20,
    onChange(descriptors) {
      onChange?.(descriptors);
      tell(namesOf(descriptors));
    },
    onError: (error) => tell((error as Error).message),
    ...options,
  });
  return {
    watch,
    told,
    async until(what: unknown) {
      const isTold = () => told.some((one) => isDeepStrictEqual(one, what));
      while (!isTold()) await within(`${what}, not ${told}`, once(events, "told"));
    },
    [Symbol.dispose]: () => watch.close(),
  };
}

const library = (router: ConnectRouter) => {
  router.service(LibraryService, {});
  addReflection(router);
};

test("a server that takes another's place is asked what it has, when a connection is lost", async () => {
  await using reflected = await openReflected(library);
  using timers = vi.spyOn(globalThis, "setTimeout");
  using watched = openWatch({ transport: reflected.transport, intervalMs: Infinity });
  await watched.until([LibraryService.typeName]);
  await reflected.replace(both);
  await watched.until([FieldService.typeName, LibraryService.typeName]);
  // A longer timer fires at once.
  for (const [, ms] of timers.mock.calls) expect(ms).toBeLessThan(2 ** 31);
});

test("a wrong answer changes nothing, and the next right one is read", async () => {
  await using reflected = await openReflected(library);
  using watched = openWatch({ transport: reflected.transport });
  await watched.until([LibraryService.typeName]);
  const { descriptors } = watched.watch;
  await reflected.replace(telling([catalogFile], shop));
  await watched.until("the upstream's reflection does not describe shop.v1.ShopService");
  expect(watched.watch.descriptors).toBe(descriptors);
  await reflected.replace(both);
  await watched.until([FieldService.typeName, LibraryService.typeName]);
});

test("what is told again as it was is no change, and a failure is told once while it lasts", async () => {
  const told = [oddFile({ name: "a" }), oddFile({ name: "b" })];
  const names = ["a.v1.OddService", "b.v1.OddService"];
  let files = told;
  await using reflected = await openReflected((router) => addReflecting(router, () => files));
  const readings = new EventEmitter();
  const header = () => {
    files.reverse(); // servers tell them in any order
    readings.emit("reading");
    return {};
  };
  using watched = openWatch({ transport: reflected.transport, header });
  const failure = "the upstream's reflection lists no service to serve";
  const rows = [[names], [names, failure], [names, failure], [names, failure, failure]];
  for (const [i, row] of rows.entries()) {
    files = i % 2 === 0 ? told : [];
    for (let i = 0; i < 3; i++) await within("a reading", once(readings, "reading"));
    expect(watched.told).toEqual(row);
  }
});

test("services that stay are told again when what describes them has changed", async () => {
  let files = [oddFile()];
  let changes = 0;
  await using reflected = await openReflected((router) => addReflecting(router, () => files));
  using watched = openWatch({ transport: reflected.transport, onChange: () => void changes++ });
  await watched.until(["odd.v1.OddService"]);
  files = [oddFile({ path: "/odd" })];
  await expect.poll(() => changes).toBe(2);
});

test("a service that is listed no more is left out, though its file stays", async () => {
  const files = [file({ name: "two.proto", service: [{ name: "One" }, { name: "Two" }] })];
  const names = ["One", "Two"];
  await using reflected = await openReflected(telling(files, names));
  using watched = openWatch({ transport: reflected.transport });
  await watched.until(["One", "Two"]);
  names.pop();
  await watched.until(["One"]);
});

test("what may have changed while it was read is read again soon", async () => {
  await using reflected = await openReflected(library);
  const readings = new EventEmitter();
  let count = 0;
  const header = () => {
    count++;
    if (count === 2) watched.watch.refresh();
    readings.emit("reading");
    return {};
  };
  using watched = openWatch({ transport: reflected.transport, intervalMs: 1e8, header });
  await watched.until([LibraryService.typeName]);
  watched.watch.refresh();
  while (count < 3) await within("a reading", once(readings, "reading"));
});

test("where no gateway can be made of a change, those before stay, and are told again", async () => {
  await using reflected = await openReflected(library);
  let refused = 0;
  const onChange = ({ services }: Descriptors) => {
    if (services.length > 1 && ++refused) throw new Error("a rule that cannot be served");
  };
  using watched = openWatch({ transport: reflected.transport, onChange });
  await watched.until([LibraryService.typeName]);
  const { descriptors } = watched.watch;
  await reflected.replace(both);
  await watched.until("a rule that cannot be served");
  await expect.poll(() => refused).toBeGreaterThan(1);
  expect(watched.watch.descriptors).toBe(descriptors);
  await reflected.replace(library);
  await expect.poll(() => watched.told.at(-1)).toEqual([LibraryService.typeName]);
});

test("an upstream that says UNIMPLEMENTED is asked what it has", async () => {
  await using reflected = await openReflected(both);
  const { transport } = reflected;
  using watched = openWatch({ transport, intervalMs: 1e8 });
  await watched.until([FieldService.typeName, LibraryService.typeName]);
  const descriptors = watched.watch.descriptors as Descriptors;
  const onUnimplemented = vi.fn(() => watched.watch.refresh());
  await using gateway = await openHandler(
    gatewayNodeAdapter({ routes: proxyServices({ ...descriptors, transport, onUnimplemented }) }),
  );
  await reflected.replace(library);
  expect((await gateway.send(send("POST", "/v1/fields", { string: "a" }))).status).toBe(501);
  expect(onUnimplemented).toHaveBeenCalledOnce();
  await watched.until([LibraryService.typeName]);
});
