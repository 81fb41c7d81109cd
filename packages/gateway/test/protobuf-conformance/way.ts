/** The protocol by which JSON reaches a method. */
export const ways = ["REST", "Connect"] as const;

export type Way = (typeof ways)[number];
