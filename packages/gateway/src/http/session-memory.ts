/**
 * For `maxSessionMemory` of node:http2, in megabytes. Above it, Node refuses each stream whose headers
 * arrive, because answers of others are unread. `Windows` bounds these instead. Node counts in 32 bits:
 * 4,295 overflow.
 */
export const sessionMegabytesMax = 4000;
