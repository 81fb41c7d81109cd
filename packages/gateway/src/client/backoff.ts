/** From the time a server needs to restart, to a delay that clients notice. */
const pauseMs = { first: 50, max: 500 } as const;

/** Doubles with each failure. Random, so that clients of one server do not return together. */
export function backoffMs(failures: number): number {
  if (failures === 0) return 0;
  const whole = Math.min(pauseMs.first * 2 ** (failures - 1), pauseMs.max);
  return whole * (0.6 + Math.random() * 0.4);
}
