/** Settings of a program: one entry gives its flag, variable, key, help, checks and row in the docs. */
export * from "./common.ts";
export * from "./given.ts";
export * from "./place.ts";
export * from "./schema.ts";
