/** What is read of an OpenAPI document. */

export interface ApiDocument {
  readonly servers?: readonly { readonly url: string }[];
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
  readonly content?: Content;
}

export type Content = Readonly<
  Record<
    string,
    {
      readonly schema?: Schema;
      readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
    }
  >
>;

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
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
export function resolve<T extends { readonly $ref?: string }>(document: ApiDocument, node: T): T {
  if (node.$ref === undefined) return node;
  const names = node.$ref.split("/").slice(1);
  const found = names.reduce<unknown>(
    (at, name) => (at as Readonly<Record<string, unknown>>)[name],
    document,
  );
  return found as T;
}
