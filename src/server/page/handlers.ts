import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import type { NodeHandler } from "connect-gateway";
import { type ApiDocument, renderReference } from "connect-gateway-kit/reference";
import { NewPlantSchema, PlantSchema } from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { errorBody } from "../error-body.ts";

type NodeResponse = Parameters<NodeHandler>[1];

export interface PageOptions extends PageFacts {
  readonly onError: (error: unknown) => void;
}

/** The page at `/`, the reference at `/docs`, and their files. They need no token. */
export function createPageHandlers(options: PageOptions): ReadonlyMap<string, NodeHandler> {
  const { basePath } = options;
  const handlers = new Map<string, NodeHandler>();
  for (const [path, file] of pageFiles) handlers.set(basePath + path, serveFile(file, options));
  // Relative links of the page need the slash.
  const redirect = forGet((_request, response) => {
    response.writeHead(308, { location: `${basePath}/`, "content-length": "0" });
    response.end();
  });
  if (basePath !== "") handlers.set(basePath, redirect);
  return handlers;
}

type Content = Awaited<ReturnType<typeof loadContent>>;

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

async function loadContent({ url, render }: PageFile, facts: PageFacts) {
  const source = await readFile(url);
  const body = render === undefined ? source : Buffer.from(render(source.toString(), facts));
  const digest = createHash("sha256").update(body).digest("base64url");
  return { body, etag: `"${digest.slice(0, 22)}"` };
}

function answer(
  { body, etag }: Content,
  { type, policy }: PageFile,
  { method, headers }: Parameters<NodeHandler>[0],
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
    const own = { "content-type": type, "content-length": body.length };
    response.writeHead(200, { ...header, ...own });
    response.end(method === "HEAD" ? "" : body);
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

export interface PageFile {
  readonly url: URL;
  readonly type: string;
  readonly policy: string;
  readonly render?: (text: string, facts: PageFacts) => string;
}

export interface PageFacts {
  readonly basePath: string;
  readonly version: string;
  /** The command that creates a token, without the name. */
  readonly tokenCommand: string;
}

const openApi = new URL("../../../gen/openapi.json", import.meta.url);

const scripts = "create history page readiness request snippets specimen text wire".split(" ");

/** By path, below the base path. The list is fixed: a path of a request never reaches the disk. */
export const pageFiles: ReadonlyMap<string, PageFile> = new Map<string, PageFile>([
  ["/", html("index.html")],
  ["/docs", html("docs.html")],
  [
    "/openapi.json",
    {
      ...file(openApi, "application/json"),
      render: (text, facts) => JSON.stringify(documentBelow(text, facts), null, 2),
    },
  ],
  ["/page/base.css", file("base.css", "text/css")],
  ["/page/page.css", file("page.css", "text/css")],
  ["/page/docs.css", file("docs.css", "text/css")],
  ...scripts.map((name) => [`/page/${name}.js`, file(`${name}.js`, "text/javascript")] as const),
  ["/page/icon.svg", file("icon.svg", "image/svg+xml")],
]);

function html(name: string): PageFile {
  const trusted = { "trusted-types": "'none'", "require-trusted-types-for": "'script'" };
  const render: PageFile["render"] = (text, { version, tokenCommand, ...facts }) =>
    text
      .replaceAll("{{version}}", version)
      .replaceAll("{{token command}}", tokenCommand)
      .replace("{{fields}}", fieldNumbers)
      .replace("{{reference}}", () =>
        renderReference(documentBelow(readFileSync(openApi, "utf8"), facts)),
      );
  return { ...file(name, "text/html", contentSecurityPolicy(trusted)), render };
}

/** For the page, which writes messages byte by byte. An attribute of HTML. */
const fieldNumbers = JSON.stringify(
  Object.fromEntries(
    [NewPlantSchema, PlantSchema].map(({ name, fields }) => [
      name,
      Object.fromEntries(fields.map((field) => [field.name, field.number])),
    ]),
  ),
).replaceAll('"', "&quot;");

function file(at: string | URL, type: string, policy = contentSecurityPolicy()): PageFile {
  const url = new URL(at, import.meta.url);
  return { url, type: `${type}; charset=utf-8`, policy };
}

/** https://www.w3.org/TR/CSP3: only own files, nothing inline, no forms sent. */
function contentSecurityPolicy(more: Readonly<Record<string, string>> = {}): string {
  const directives = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    ...more,
  };
  return Object.entries(directives)
    .map((entry) => entry.join(" "))
    .join("; ");
}

/** The document is served under the base path, like the operation. */
function documentBelow(text: string, { basePath }: Pick<PageFacts, "basePath">): ApiDocument {
  return { ...JSON.parse(text), servers: [{ url: basePath || "/" }] };
}
