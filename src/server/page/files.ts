/** The files of the page. The list is fixed, so a path of a request never reaches the disk. */
import { readFileSync } from "node:fs";
import { type ApiDocument, renderReference } from "connect-gateway-kit/reference";
import { NewPlantSchema, PlantSchema } from "../../../gen/plantstore/v1/plant_service_pb.ts";

export interface PageFile {
  readonly url: URL;
  readonly type: string;
  /** Its Content-Security-Policy. */
  readonly policy: string;
  /** Fills in the content. */
  readonly render?: (text: string, facts: PageFacts) => string;
}

export interface PageFacts {
  readonly basePath: string;
  readonly version: string;
  /** The command that creates a token, without the name. */
  readonly tokenCommand: string;
}

const openApi = new URL("../../../gen/openapi.json", import.meta.url);

/** The files by their paths, below the base path. */
export const pageFiles: ReadonlyMap<string, PageFile> = new Map([
  ["/", html("index.html")],
  ["/docs", html("docs.html")],
  ["/openapi.json", { ...file(openApi, "application/json"), render: renderDocument }],
  ["/page/base.css", file(own("base.css"), "text/css")],
  ["/page/page.css", file(own("page.css"), "text/css")],
  ["/page/docs.css", file(own("docs.css"), "text/css")],
  ["/page/page.js", file(own("page.js"), "text/javascript")],
  ["/page/create.js", file(own("create.js"), "text/javascript")],
  ["/page/element.js", file(own("element.js"), "text/javascript")],
  ["/page/history.js", file(own("history.js"), "text/javascript")],
  ["/page/request.js", file(own("request.js"), "text/javascript")],
  ["/page/snippets.js", file(own("snippets.js"), "text/javascript")],
  ["/page/specimen.js", file(own("specimen.js"), "text/javascript")],
  ["/page/text.js", file(own("text.js"), "text/javascript")],
  ["/page/wire.js", file(own("wire.js"), "text/javascript")],
  ["/page/readiness.js", file(own("readiness.js"), "text/javascript")],
  ["/page/icon.svg", file(own("icon.svg"), "image/svg+xml")],
]);

function html(name: string): PageFile {
  const trusted = { "trusted-types": "'none'", "require-trusted-types-for": "'script'" };
  const render: PageFile["render"] = (text, { version, tokenCommand, ...facts }) =>
    text
      .replaceAll("{{version}}", version)
      .replaceAll("{{token command}}", tokenCommand)
      .replace("{{fields}}", fieldNumbers)
      .replace("{{reference}}", () => renderReference(documentBelow(facts)));
  return { ...file(own(name), "text/html", trusted), render };
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

function file(url: URL, type: string, more: Readonly<Record<string, string>> = {}): PageFile {
  return { url, type: `${type}; charset=utf-8`, policy: contentSecurityPolicy(more) };
}

/** https://www.w3.org/TR/CSP3: only own files, nothing inline, no forms sent. */
function contentSecurityPolicy(more: Readonly<Record<string, string>>): string {
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

function own(name: string): URL {
  return new URL(name, import.meta.url);
}

/** The document is served under the base path, like the operation. */
function documentBelow({ basePath }: Pick<PageFacts, "basePath">): ApiDocument {
  const document: ApiDocument = JSON.parse(readFileSync(openApi, "utf8"));
  return { ...document, servers: [{ url: basePath || "/" }] };
}

function renderDocument(_text: string, facts: PageFacts): string {
  return JSON.stringify(documentBelow(facts), null, 2);
}
