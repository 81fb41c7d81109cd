import {
  type ApiDocument,
  type Content,
  type Operation,
  type Response,
  resolve,
} from "./document.ts";
import { code, escapeHtml, prose, table } from "./html.ts";
import { Types } from "./types.ts";

interface Place {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

/** What a caller sends to each operation and gets back. What several have in common is told once. */
export function renderReference(document: ApiDocument): string {
  const base = (document.servers?.[0]?.url ?? "").replace(/\/$/, "");
  const places = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path: base + path,
      method: method.toUpperCase(),
      operation,
    })),
  );
  const types = new Types(document);
  return [
    ...(places.length > 1 ? [renderContents(document, places)] : []),
    ...places.map((place) => renderOperation(place, types)),
    renderErrors(document, { places, types }),
    types.renderLinked(),
  ].join("\n");
}

function renderContents({ tags = [] }: ApiDocument, places: readonly Place[]): string {
  const parts = tags.map(({ name, description = "" }) => {
    const lines = places
      .filter(({ operation }) => operation.tags?.includes(name))
      .map(
        ({ path, method, operation: { operationId, summary = "" } }) =>
          `<li><a href="#${escapeHtml(operationId)}">${code(`${method} ${path}`)}</a> ${prose(summary)}</li>`,
      );
    return `<p><strong>${escapeHtml(name)}</strong> ${prose(description)}</p>
<ul>${lines.join("\n")}</ul>`;
  });
  return `<nav aria-label="Operations">${parts.join("\n")}</nav>`;
}

function renderOperation({ path, method, operation }: Place, types: Types): string {
  const { operationId, summary = "", description = "", deprecated, parameters = [] } = operation;
  const text = [deprecated === true ? "Deprecated" : "", summary, description]
    .filter((part) => part !== "")
    .map((part) => part.replace(/([^.:])$/, "$1."));
  const rows = parameters.map(
    ({ name, in: place, required = false, schema, description: meaning }) => {
      const [field = "", ...others] = types.rowOf(
        name,
        meaning === undefined ? schema : { ...schema, description: meaning },
        required,
      );
      return [`${field} in ${place}`, ...others];
    },
  );
  const successes = Object.entries(operation.responses).filter(([status]) => /^[123]/.test(status));
  return `<h2 id="${escapeHtml(operationId)}">${code(`${method} ${path}`)}</h2>
${text.length === 0 ? "" : `<p>${prose(text.join(" "))}</p>`}
${rows.length === 0 ? "" : `<h3>Parameters</h3>${table(["Parameter", "Type", "Required", "Meaning"], rows)}`}
${renderContent("Request", operation.requestBody?.content, types)}
${successes.map(([status, { content }]) => renderContent(`Response ${status}`, content, types)).join("\n")}`;
}

function renderContent(title: string, content: Content | undefined, types: Types): string {
  if (content === undefined) return "";
  const media = Object.keys(content).map(code).join(" or ");
  // Where an operation takes several media types, all are forms of one message.
  const [{ schema = {} } = {}] = Object.values(content);
  return `<h3>${title}</h3>
${types.renderBody(`Content-Type: ${media}`, schema)}`;
}

/** By status, once for all operations. */
function renderErrors(
  document: ApiDocument,
  { places, types }: { readonly places: readonly Place[]; readonly types: Types },
): string {
  const errors = new Map<string, Set<Response>>();
  for (const { operation } of places) {
    for (const [status, response] of Object.entries(operation.responses)) {
      if (!/^[45d]/.test(status)) continue;
      const responses = errors.get(status) ?? new Set<Response>();
      errors.set(status, responses.add(resolve(document, response)));
    }
  }
  const rows = [...errors].flatMap(([status, responses]) =>
    [...responses].map(({ description = "", headers = {}, content = {} }) => {
      const told = Object.entries(headers).map(
        ([name, header]) => `<br>${code(name)}: ${prose(header.description ?? "")}`,
      );
      const shown = Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
      return [
        status === "default" ? "others" : code(status),
        prose(description) + told.join(""),
        shown.map(({ value }) => code(JSON.stringify(value))).join("<br>"),
      ];
    }),
  );
  const bodies = [...errors.values()].flatMap((responses) =>
    [...responses].flatMap(({ content = {} }) =>
      Object.entries(content).map(
        ([media, { schema = {} }]) => `<p>Content-Type: ${code(media)}, ${types.name(schema)}</p>`,
      ),
    ),
  );
  return `<h2>Errors</h2>
${[...new Set(bodies)].join("\n")}
${table(["Status", "When", "Body, for example"], rows)}`;
}
