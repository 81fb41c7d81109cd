/**
 * For `maxSessionMemory` of node:http2, in megabytes. Above it, Node refuses each stream whose headers
 * arrive. What a session may hold is limited elsewhere, by stream and by the {@link BodyBudget}, so
 * unread answers slow down nobody else. Node counts in 32 bits: 4,295 overflow.
 */
export const sessionMegabytesMax = 4000;
