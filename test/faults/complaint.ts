/** Whether a line of a server's log tells of a failure of its own, or of its sudden end. */
export function isComplaint(line: string): boolean {
  return /"level":"error"|^\s+at |^node:/.test(line);
}
