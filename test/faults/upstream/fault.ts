/** What happens to the model upstream as a whole. */
export const connectionFaults = [
  "goaway",
  "goaway twice",
  "garbage",
  "cut",
  "silence",
  "no streams",
  "few streams",
] as const;
export type ConnectionFault = (typeof connectionFaults)[number];

/** Those to its process and to the addresses of its name. */
export const faults = [...connectionFaults, "stop", "kill", "leave", "join"] as const;
export type Fault = (typeof faults)[number];
