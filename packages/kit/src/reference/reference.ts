interface Place {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

export function renderReference(document: ApiDocument): string {
  const base = (document.servers?.[0]?.url ?? "").replace(/\/$/, "");
  const places = Object.entries(document.paths).flatMap(([path, { description: _, ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => {
      return { path: base + path, method: method.toUpperCase(), operation };
    }),
  );
  // A path says which of its methods cannot be described.
  const notes = Object.values(document.paths).map((item): unknown => item["description"]);
  const types = createTypes(document);
  return [
    ...(places.length > 1 ? [renderContents(document, places)] : []),
    ...places.map((place) => renderOperation(place, types)),
    ...notes.filter((note) => typeof note === "string").map((note) => `<p>${prose(note)}</p>`),
    renderErrors(document, places, types),
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
  const rows = parameters.map(({ name, in: place, required = false, schema, description }) => {
    const described = description === undefined ? schema : { ...schema, description };
    const [field = "", ...others] = types.rowOf(name, described, required);
    return [`${field} in ${place}`, ...others];
  });
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
  // If an operation accepts several media types, all are forms of one message.
  const [{ schema = {} } = {}] = Object.values(content);
  return `<h3>${title}</h3>
${types.renderBody(`Content-Type: ${media}`, schema)}`;
}

function renderErrors(document: ApiDocument, places: readonly Place[], types: Types): string {
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

type Types = ReturnType<typeof createTypes>;

/** Renders types, and remembers those that the page refers to. */
function createTypes(document: ApiDocument) {
  const linked = new Set<string>();
  const refs = JSON.stringify(document).match(/(?<=")#\/components\/schemas\/[^"]+(?=")/g) ?? [];
  const byRef = Map.groupBy(refs, (ref) => ref);
  return { renderBody, rowOf, name, renderLinked };

  /** The type of a body, and its fields, if no other place has them. */
  function renderBody(media: string, schema: Schema): string {
    const body = resolve(document, schema);
    const uses = byRef.get(schema.$ref ?? "") ?? [];
    if (body.properties === undefined || uses.length > 1) return `<p>${media}, ${name(schema)}</p>`;
    // JSON on one line, with the spaces that people write.
    const show = (value: unknown) => JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
    const { examples = [] } = body;
    const shown = examples.map((example) => `<pre class="code">${escapeHtml(show(example))}</pre>`);
    return `<p>${media}</p>${shown.join("")}${renderFields(body)}`;
  }

  function renderFields({ properties = {}, required = [] }: Schema): string {
    const rows = Object.entries(properties).map(([field, schema]) =>
      rowOf(field, schema, required.includes(field)),
    );
    if (rows.length === 0) return "<p>No fields.</p>";
    return table(["Field", "Type", "Required", "Meaning"], rows);
  }

  function rowOf(field: string, schema: Schema, isRequired: boolean): readonly string[] {
    const { description = "", deprecated } = { ...resolve(document, schema), ...schema };
    const meaning = deprecated === true ? `Deprecated. ${description}` : description;
    return [code(field), name(schema), isRequired ? "yes" : "no", prose(meaning)];
  }

  /** All types that the page has links to, and those that they have links to. */
  function renderLinked(): string {
    const sections: string[] = [];
    // The set grows while it is read.
    for (const ref of linked) {
      const schema = resolve<Schema>(document, { $ref: ref });
      sections.push(`<h3 id="${anchorOf(ref)}">${code(nameOf(ref))}</h3>
<p>${prose(schema.description ?? "")}</p>
${renderFields(schema)}`);
    }
    return sections.length === 0 ? "" : `<h2>Types</h2>\n${sections.join("\n")}`;
  }

  /** Linked, if it has fields. */
  function name(schema: Schema): string {
    if (schema.$ref !== undefined) {
      const target = resolve(document, schema);
      if (target.properties === undefined) return name(target);
      linked.add(schema.$ref);
      return `<a href="#${anchorOf(schema.$ref)}">${code(nameOf(schema.$ref))}</a>`;
    }
    const { type, format, items, additionalProperties, oneOf, anyOf = oneOf } = schema;
    if (anyOf !== undefined) return [...new Set(anyOf.map(name))].join(" or ");
    const values = schema.const === undefined ? schema.enum : [schema.const];
    if (values !== undefined) return values.map((one) => code(JSON.stringify(one))).join(", ");
    if (items !== undefined) return `array of ${name(items)}`;
    if (typeof additionalProperties === "object") return `map of ${name(additionalProperties)}`;
    return code(format ?? (typeof type === "object" ? type.join(" or ") : (type ?? "any")));
  }
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

function anchorOf(ref: string): string {
  return escapeHtml(`type-${nameOf(ref)}`);
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}

/** A comment of a proto: `code` between backticks, blank lines between paragraphs. */
function prose(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll(/\n\s*\n/g, "<br><br>");
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th>${title}</th>`).join("");
  // Pages show the titles beside the cells where there is no room for columns.
  const cell = (text: string, column: number) => `<td data-title="${titles[column]}">${text}</td>`;
  const body = rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("\n");
  return `<table><thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table>`;
}

export interface ApiDocument {
  readonly servers?: readonly { readonly url: string }[];
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: ByName<ByName<Operation>>;
}

type ByName<T> = Readonly<Record<string, T>>;

type Described = { $ref?: string; description?: string; deprecated?: boolean };
type Parameter = { name: string; in: string; required?: boolean; schema: Schema } & Described;
type Content = ByName<{ schema?: Schema; examples?: ByName<{ value: unknown }> }>;
type Response = { headers?: ByName<Described>; content?: Content } & Described;

interface Operation extends Described {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: ByName<Response>;
}

interface Schema extends Described {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly properties?: ByName<Schema>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
}

/** Follows `$ref`, a JSON pointer (RFC 6901). The gateway's names need no escapes in it. */
function resolve<T extends { readonly $ref?: string }>(document: ApiDocument, node: T): T {
  if (node.$ref === undefined) return node;
  const names = node.$ref.split("/").slice(1);
  return names.reduce<unknown>((at, name) => (at as ByName<unknown>)[name], document) as T;
}
