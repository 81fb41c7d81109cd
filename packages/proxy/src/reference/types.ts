/** Schemas as people name them: `int64`, `array of Volume`. */
import { type ApiDocument, resolve, type Schema } from "./document.ts";
import { code, escapeHtml, prose, table } from "./html.ts";

export class Types {
  readonly #document: ApiDocument;
  readonly #uses: ReadonlyMap<string, number>;
  /** The types that the page refers to, for {@link renderLinked}. */
  readonly #linked = new Set<string>();

  constructor(document: ApiDocument) {
    this.#document = document;
    const refs = JSON.stringify(document).match(/"#\/components\/schemas\/[^"]+"/g) ?? [];
    const uses = new Map<string, number>();
    for (const ref of refs) uses.set(ref.slice(1, -1), (uses.get(ref.slice(1, -1)) ?? 0) + 1);
    this.#uses = uses;
  }

  /** The type of a body, and its fields, if no other place has them. */
  renderBody(media: string, schema: Schema): string {
    const body = resolve(this.#document, schema);
    const uses = this.#uses.get(schema.$ref ?? "") ?? 1;
    if (body.properties === undefined || uses > 1) return `<p>${media}, ${this.name(schema)}</p>`;
    const { examples = [] } = body;
    const shown = examples.map((example) => `<pre class="code">${escapeHtml(show(example))}</pre>`);
    return `<p>${media}</p>${shown.join("")}${this.renderFields(body)}`;
  }

  renderFields({ properties = {}, required = [] }: Schema): string {
    const rows = Object.entries(properties).map(([name, field]) =>
      this.rowOf(name, field, required.includes(name)),
    );
    if (rows.length === 0) return "<p>No fields.</p>";
    return table(["Field", "Type", "Required", "Meaning"], rows);
  }

  rowOf(name: string, field: Schema, isRequired: boolean): readonly string[] {
    const { description = "", deprecated } = { ...resolve(this.#document, field), ...field };
    const meaning = deprecated === true ? `Deprecated. ${description}` : description;
    return [code(name), this.name(field), isRequired ? "yes" : "no", prose(meaning)];
  }

  /** All types that the page has links to, and those that they have links to. */
  renderLinked(): string {
    const sections: string[] = [];
    // The set grows while it is read.
    for (const ref of this.#linked) {
      const schema = resolve<Schema>(this.#document, { $ref: ref });
      sections.push(
        `<h3 id="${anchorOf(ref)}">${code(nameOf(ref))}</h3>
<p>${prose(schema.description ?? "")}</p>
${this.renderFields(schema)}`,
      );
    }
    return sections.length === 0 ? "" : `<h2>Types</h2>\n${sections.join("\n")}`;
  }

  /** Linked, if it has fields. */
  name(schema: Schema): string {
    if (schema.$ref !== undefined) {
      const target = resolve(this.#document, schema);
      if (target.properties === undefined) return this.name(target);
      this.#linked.add(schema.$ref);
      return `<a href="#${anchorOf(schema.$ref)}">${code(nameOf(schema.$ref))}</a>`;
    }
    const { type, format, items, additionalProperties, anyOf, oneOf = anyOf } = schema;
    if (oneOf !== undefined) {
      return [...new Set(oneOf.map((choice) => this.name(choice)))].join(" or ");
    }
    if (schema.const !== undefined) return code(JSON.stringify(schema.const));
    if (schema.enum !== undefined) {
      return schema.enum.map((value) => code(JSON.stringify(value))).join(", ");
    }
    if (items !== undefined) return `array of ${this.name(items)}`;
    if (typeof additionalProperties === "object")
      return `map of ${this.name(additionalProperties)}`;
    return code(format ?? (typeof type === "object" ? type.join(" or ") : (type ?? "any")));
  }
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

function anchorOf(ref: string): string {
  return escapeHtml(`type-${nameOf(ref)}`);
}

/** JSON on one line, with the spaces that people write. */
function show(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
}
