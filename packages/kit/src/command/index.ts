/** Shared by command lines of programs with settings. */

export { createConfigCommand } from "./config.ts";
export { createHealthCommand } from "./health.ts";
export { listenForStop, shortenCollections } from "./process.ts";
export { CommandFailure, cannot, runCommandLine } from "./run.ts";
export { serveMcp } from "./stdio.ts";
export { createTokenCommand } from "./token.ts";
