/** What command lines of programs with settings share. */
export { CommandFailure, cannot } from "./command-failure.ts";
export { createConfigCommand } from "./config.ts";
export { createHealthCommand } from "./health.ts";
export { shortenCollections } from "./heap.ts";
export { runCommandLine } from "./run.ts";
export { notifyReady } from "./service-manager.ts";
export { listenForStop } from "./stop-signal.ts";
export { createTokenCommand } from "./token.ts";
