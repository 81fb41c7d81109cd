import type { Campaign } from "./campaign.ts";

/** In the order of a run, which divides its time among them. */
export const campaigns: readonly Campaign[] = [];
