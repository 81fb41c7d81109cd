import { bodyRows } from "./bodies.ts";
import { contextRows } from "./contexts.ts";
import { encodingRows } from "./encodings.ts";
import { errorRows } from "./errors.ts";
import { getRows } from "./get.ts";
import { interceptorRows } from "./interceptors.ts";
import { metadataRows } from "./metadata.ts";
import { negotiationRows } from "./negotiation.ts";
import type { Row } from "./table.ts";
import { timeoutRows } from "./timeouts.ts";

export const tables: Readonly<Record<string, readonly Row[]>> = {
  negotiation: negotiationRows,
  encodings: encodingRows,
  timeouts: timeoutRows,
  bodies: bodyRows,
  get: getRows,
  metadata: metadataRows,
  errors: errorRows,
  interceptors: interceptorRows,
  contexts: contextRows,
};
