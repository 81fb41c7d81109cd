/** A JSON object that is being put together. */
export type JsonObject = { [key: string]: unknown };
