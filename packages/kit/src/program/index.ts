/** The start and the end of a program with a port. */
export {
  type ProgramSettings,
  type Running,
  runUntilStopped,
  type StartedProgram,
  schemeOf,
  startProgram,
  stuckGraceMs,
} from "./start.ts";
