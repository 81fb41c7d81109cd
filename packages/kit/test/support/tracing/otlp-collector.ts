import { createServer, type IncomingHttpHeaders } from "node:http";
import { gunzipSync } from "node:zlib";
import { listen } from "../../../../gateway/test/support/free-port.ts";
import { within } from "../../../../gateway/test/support/within.ts";
import { watchForTokens } from "../token-leaks.ts";
import { type ExportedSpan, parseSpans, serverKind } from "./otlp-spans.ts";

/** Receives spans in tests. Fails the test if they contain a token. */
export interface OtlpCollector extends AsyncDisposable {
  readonly url: string;
  /** The received spans of calls, in order. */
  readonly calls: readonly ExportedSpan[];
  /** The received spans inside calls. */
  readonly inner: readonly ExportedSpan[];
  /** Each export, including rejected ones. */
  readonly exports: readonly CollectedExport[];
  /** The first `count` spans of calls, once they have arrived. */
  until(count: number): Promise<readonly ExportedSpan[]>;
  /** Resolves when this many exports have arrived. */
  untilExports(count: number): Promise<void>;
}

interface CollectedExport {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Decompressed. */
  readonly body: Buffer;
}

/** The answer to the nth export, from 0; `silence`: never answers. */
type Answer = (
  index: number,
) => { readonly status: number; readonly body?: Uint8Array } | "silence";

export async function openOtlpCollector({
  answer = () => ({ status: 200 }),
}: {
  readonly answer?: Answer;
} = {}): Promise<OtlpCollector> {
  const calls: ExportedSpan[] = [];
  const inner: ExportedSpan[] = [];
  const exports: CollectedExport[] = [];
  const watchers = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { headers, url: path = "" } = request;
    const sent = Buffer.concat(chunks);
    const body = headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
    watchForTokens(`${path} ${JSON.stringify(headers)} ${body.toString("latin1")}`, "log");
    exports.push({ path, headers, body });
    const given = answer(exports.length - 1);
    if (given !== "silence") {
      const taken = given.status === 200 ? parseSpans(body) : [];
      calls.push(...taken.filter(({ kind }) => kind === serverKind));
      inner.push(...taken.filter(({ kind }) => kind !== serverKind));
      response.writeHead(given.status).end(given.body);
    }
    for (const look of watchers) look();
  });
  const { url, [Symbol.asyncDispose]: close } = await listen(server);

  function untilTrue(what: string, condition: () => boolean): Promise<void> {
    const reached = Promise.withResolvers<void>();
    const look = () => condition() && reached.resolve();
    watchers.add(look);
    look();
    return within(what, reached.promise).finally(() => watchers.delete(look));
  }

  return {
    ...{ url, calls, inner, exports },
    async until(count) {
      await untilTrue(`${count} spans of calls`, () => calls.length >= count);
      return calls.slice(0, count);
    },
    untilExports: (count) => untilTrue(`${count} exports`, () => exports.length >= count),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await close();
    },
  };
}
