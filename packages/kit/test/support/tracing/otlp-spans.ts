/** What an OTLP exporter sends: opentelemetry/proto/collector/trace/v1, as far as tests need it. */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty if there is none. */
  readonly parentSpanId: string;
  readonly name: string;
  /** {@link serverKind}, or another. */
  readonly kind: number;
  readonly attributes: Attributes;
  /** 0: not set, 2: an error. */
  readonly statusCode: number;
  readonly resource: Attributes;
}

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** SPAN_KIND_SERVER. */
export const serverKind = 2;

/** The spans of an ExportTraceServiceRequest. */
export function parseSpans(bytes: Uint8Array): ExportedSpan[] {
  return parseMessage(bytes)
    .all(1)
    .flatMap((resourceSpans) => {
      const resource = attributesOf(resourceSpans.first(1)?.all(1) ?? []);
      const spans = resourceSpans.all(2).flatMap((scopeSpans) => scopeSpans.all(2));
      return spans.map((span) => ({ ...spanFrom(span), resource }));
    });
}

function spanFrom(span: Message): Omit<ExportedSpan, "resource"> {
  return {
    traceId: span.hex(1),
    spanId: span.hex(2),
    parentSpanId: span.hex(4),
    name: span.text(5),
    kind: span.integer(6),
    attributes: attributesOf(span.all(9)),
    statusCode: span.first(15)?.integer(3) ?? 0,
  };
}

/** The attributes of KeyValue messages with a string or an integer. */
function attributesOf(pairs: readonly Message[]): Attributes {
  return Object.fromEntries(
    pairs.map((pair) => {
      const value = pair.first(2);
      return [pair.text(1), value?.has(3) ? value.integer(3) : value?.text(1)];
    }),
  );
}

/** The fields of a message of unknown type. */
interface Message {
  has(field: number): boolean;
  all(field: number): readonly Message[];
  first(field: number): Message | undefined;
  text(field: number): string;
  hex(field: number): string;
  integer(field: number): number;
}

function parseMessage(bytes: Uint8Array): Message {
  const blocks = new Map<number, Uint8Array[]>();
  const integers = new Map<number, number>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === WireType.LengthDelimited) {
      blocks.set(field, [...(blocks.get(field) ?? []), reader.bytes()]);
    } else if (type === WireType.Varint) integers.set(field, Number(reader.uint64()));
    else reader.skip(type, field);
  }
  const block = (field: number) => Buffer.from(blocks.get(field)?.at(-1) ?? []);
  const all = (field: number) => (blocks.get(field) ?? []).map(parseMessage);
  return {
    has: (field) => blocks.has(field) || integers.has(field),
    all,
    first: (field) => all(field).at(-1),
    text: (field) => block(field).toString("utf8"),
    hex: (field) => block(field).toString("hex"),
    integer: (field) => integers.get(field) ?? 0,
  };
}
