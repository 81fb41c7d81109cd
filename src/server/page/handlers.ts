import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import type { NodeHandler } from "connect-gateway";
import { errorBody } from "../error-body.ts";
import { type PageFacts, type PageFile, pageFiles } from "./files.ts";

type NodeRequest = Parameters<NodeHandler>[0];
type NodeResponse = Parameters<NodeHandler>[1];

export interface PageOptions extends PageFacts {
  readonly onError: (error: unknown) => void;
}

/**
 * The page at `/`, the reference of the API at `/docs`, and the files that they load. They need no
 * token.
 *
 * @returns the handlers by their full paths.
 */
export function createPageHandlers(options: PageOptions): ReadonlyMap<string, NodeHandler> {
  const { basePath } = options;
  const handlers = new Map<string, NodeHandler>();
  for (const [path, file] of pageFiles) handlers.set(basePath + path, serveFile(file, options));
  // Relative links of the page need the slash.
  if (basePath !== "") handlers.set(basePath, redirectTo(`${basePath}/`));
  return handlers;
}

function redirectTo(location: string): NodeHandler {
  return forGet((_request, response) => {
    response.writeHead(308, { location, "content-length": "0" });
    response.end();
  });
}

interface Content {
  readonly body: Buffer;
  readonly etag: string;
}

function serveFile(file: PageFile, { onError, ...facts }: PageOptions): NodeHandler {
  // Read on the first request, so that the start does not wait for it.
  let content: Promise<Content> | undefined;
  return forGet((request, response) => {
    content ??= loadContent(file, facts);
    content.then(
      (loaded) => answer(loaded, file, request, response),
      (error: unknown) => {
        content = undefined;
        onError(error);
        refuse(response, 500, Code.Internal, "cannot read the page");
      },
    );
  });
}

async function loadContent({ url, render }: PageFile, facts: PageFacts): Promise<Content> {
  const source = await readFile(url);
  const body = render === undefined ? source : Buffer.from(render(source.toString(), facts));
  const digest = createHash("sha256").update(body).digest("base64url");
  return { body, etag: `"${digest.slice(0, 22)}"` };
}

function answer(
  { body, etag }: Content,
  { type, policy }: PageFile,
  { method, headers }: NodeRequest,
  response: NodeResponse,
): void {
  const header = {
    etag,
    // Cached and revalidated each time, because the next version may differ.
    "cache-control": "no-cache",
    "content-security-policy": policy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
  };
  if (isKnown(etag, headers["if-none-match"])) {
    response.writeHead(304, header);
    response.end();
  } else {
    response.writeHead(200, { ...header, "content-type": type, "content-length": body.length });
    if (method === "HEAD") response.end();
    else response.end(body);
  }
}

/** RFC 9110 section 13.1.2, compared weakly. */
function isKnown(etag: string, ifNoneMatch = ""): boolean {
  const known = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return known.includes(etag) || known.includes("*");
}

function forGet(handler: NodeHandler): NodeHandler {
  return (request, response) => {
    if (request.method === "GET" || request.method === "HEAD") handler(request, response);
    else {
      const message = "the method must be GET or HEAD";
      refuse(response, 405, Code.Unimplemented, message, { allow: "GET, HEAD" });
    }
  };
}

function refuse(
  response: NodeResponse,
  status: number,
  code: Code,
  message: string,
  header: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...header });
  response.end(JSON.stringify(errorBody(code, message)));
}
