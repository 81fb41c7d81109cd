/** The start and the end of a program with a port. */
export { type Running, runUntilStopped, stuckGraceMs } from "./run.ts";
export { type ProgramSettings, type StartedProgram, schemeOf, startProgram } from "./start.ts";
