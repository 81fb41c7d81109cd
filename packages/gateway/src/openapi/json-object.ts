/** A JSON object under construction. */
export type JsonObject = { [key: string]: unknown };

/** The members for what is said about something: none if that is empty, or not deprecated. */
export function describe(description: string, isDeprecated = false): JsonObject {
  return {
    ...(description !== "" && { description }),
    ...(isDeprecated && { deprecated: true }),
  };
}
