import { bodyRows } from "./bodies.ts";
import { contextRows } from "./contexts.ts";
import { encodingRows } from "./encodings.ts";
import { errorRows } from "./errors.ts";
import { getRows } from "./get.ts";
import { interceptorRows } from "./interceptors.ts";
import { metadataRows } from "./metadata.ts";
import { negotiationRows } from "./negotiation.ts";
import type { Row } from "./table.ts";
import { textRows } from "./text.ts";
import { timeoutRows } from "./timeouts.ts";

export type Tables = Readonly<Record<string, readonly Row[]>>;

/** How a request is read. */
export const requestTables: Tables = {
  negotiation: negotiationRows,
  encodings: encodingRows,
  timeouts: timeoutRows,
  bodies: bodyRows,
  get: getRows,
  text: textRows,
};

/** What a call does and sees. */
export const callTables: Tables = {
  metadata: metadataRows,
  errors: errorRows,
  interceptors: interceptorRows,
  contexts: contextRows,
};
