/** Whether a line of a server's log reports an internal failure or a crash. */
export function isComplaint(line: string): boolean {
  return /"level":"error"|^\s+at |^node:/.test(line);
}
