import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  CatalogService,
  file_library_v1_catalog,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { openProtocols } from "../../../gateway/test/support/open-client.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { openUpstream, type Upstream } from "../services/open-proxy.ts";
import { type RunningCommand, useFolder } from "./command.ts";

/** The limit strikes up to twice as late. */
const [requestTimeoutMs, quietMs] = [200, 1000];

const folder = useFolder(file_library_v1_catalog);
const opened = new AsyncDisposableStack();
let upstream: Upstream;
let command: RunningCommand;

beforeAll(async () => {
  upstream = opened.use(
    await openUpstream((router) =>
      router.service(CatalogService, {
        async *watchVolumes() {
          yield { id: 1n };
          await sleep(quietMs);
          yield { id: 2n };
        },
        async importVolumes(requests) {
          let count = 0n;
          for await (const _ of requests) count++;
          return { count };
        },
      }),
    ),
  );
  const limit = ["--request-timeout-ms", `${requestTimeoutMs}`];
  const described = ["--descriptors", "services.binpb"];
  command = opened.use(await folder.start("--upstream", upstream.url, ...described, ...limit));
});

afterAll(() => opened.disposeAsync());

test.each(openProtocols)("are served to their end over $name", async ({ open }) => {
  using caller = open(CatalogService, command.origin);
  async function* requests() {
    yield { parent: "shelves/a" };
    await sleep(quietMs);
    yield { parent: "shelves/a" };
  }
  const imported = caller.client.importVolumes(requests());
  const ids: bigint[] = [];
  for await (const { id = 0n } of caller.client.watchVolumes({ parent: "shelves/a" })) ids.push(id);
  expect(ids).toEqual([1n, 2n]);
  expect(await within("the answer", imported)).toMatchObject({ count: 2n });
});

test("are served to their end over server-sent events", async () => {
  const response = await fetch(`${command.origin}/v1/shelves/a/volumes:watch`, {
    headers: { accept: "text/event-stream" },
  });
  const text = await within("the end", response.text());
  expect(text).toContain('"id":"1"');
  expect(text).toContain('"id":"2"');
  expect(text).toContain("event: end");
});
