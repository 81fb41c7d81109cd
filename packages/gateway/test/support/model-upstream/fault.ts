/** What the model upstream does to all its connections, when it is told. */
export const connectionFaults = [
  ...["goaway", "goaway twice", "garbage", "cut", "silence", "no streams", "few streams"],
] as const;
export type ConnectionFault = (typeof connectionFaults)[number];
