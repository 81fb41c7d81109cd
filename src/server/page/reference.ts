/** The API reference as HTML, from the OpenAPI document: what a caller sends, and what comes back. */

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly examples?: readonly unknown[];
}

interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
  readonly content?: Body;
}

type Body = Readonly<
  Record<
    string,
    {
      readonly schema: Schema;
      readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
    }
  >
>;

interface Operation {
  readonly summary: string;
  readonly description: string;
  readonly requestBody: { readonly content: Body };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** @param text The OpenAPI document. */
export function renderReference(text: string, basePath: string): string {
  const document: Document = JSON.parse(text);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return operations
    .map(
      ({ path, method, operation }) => `
<h2><code>${escapeHtml(`${method.toUpperCase()} ${basePath}${path}`)}</code></h2>
<p>${escapeHtml(operation.summary)}. ${escapeHtml(operation.description)}</p>
${renderBody(document, "Request", operation.requestBody.content)}
${Object.entries(operation.responses)
  .filter(([status]) => status.startsWith("2"))
  .map(([status, { content = {} }]) => renderBody(document, `Response ${status}`, content))
  .join("")}
${renderErrors(document, operation)}`,
    )
    .join("");
}

function renderBody(document: Document, title: string, content: Body): string {
  return Object.entries(content)
    .map(([type, { schema }]) => {
      const { properties = {}, required = [], examples = [] } = resolve(document, schema);
      const rows = Object.entries(properties).map(([name, field]) => {
        const { type: kind, format, description } = { ...resolve(document, field), ...field };
        const isNeeded = required.includes(name) ? "yes" : "no";
        return [
          code(name),
          code(format ?? kind ?? "int64"),
          isNeeded,
          escapeHtml(description ?? ""),
        ];
      });
      return `<h3>${title}</h3>
<p><code>Content-Type: ${escapeHtml(type)}</code></p>
${examples.map((example) => `<pre class="code">${escapeHtml(show(example))}</pre>`).join("")}
${table(["Field", "Type", "Required", "Meaning"], rows)}`;
    })
    .join("");
}

function renderErrors(document: Document, { responses }: Operation): string {
  const rows = Object.entries(responses)
    .filter(([status]) => /^[45]/.test(status))
    .map(([status, response]) => {
      const {
        description = "",
        headers = {},
        content = {},
      } = resolve<Response>(document, response);
      const bodies = Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
      const told = Object.entries(headers).map(
        ([name, header]) => `<br>${code(name)}: ${escapeHtml(header.description ?? "")}`,
      );
      return [
        code(status),
        escapeHtml(description) + told.join(""),
        bodies.map(({ value }) => code(JSON.stringify(value))).join("<br>"),
      ];
    });
  return `<h3>Errors</h3>
<p>
  <code>error</code> is the number of the <code>google.rpc.Code</code>. <code>message</code> says
  what to change. Its wording may change.
</p>
${table(["Status", "When", "Body, for example"], rows)}`;
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (kind: "th" | "td", cells: readonly string[]) =>
    `<tr>${cells.map((cell) => `<${kind}>${cell}</${kind}>`).join("")}</tr>`;
  return `<table><thead>${line("th", titles)}</thead>
<tbody>${rows.map((row) => line("td", row)).join("\n")}</tbody></table>`;
}

/** Follows `$ref`, which is a JSON pointer (RFC 6901) without escapes here. */
function resolve<T extends { readonly $ref?: string }>(document: object, node: T): T {
  if (node.$ref === undefined) return node;
  const names = node.$ref.split("/").slice(1);
  const found = names.reduce<unknown>(
    (at, name) => (at as Readonly<Record<string, unknown>>)[name],
    document,
  );
  return found as T;
}

/** JSON on one line, with the spaces that people write. */
function show(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
