/** From what a server needs to start again to what its clients may notice. */
const pauseMs = { first: 50, max: 500 } as const;

/** Doubles with each failure, and spreads those that wait for the same server. */
export function backoffMs(failures: number): number {
  if (failures === 0) return 0;
  const whole = Math.min(pauseMs.first * 2 ** (failures - 1), pauseMs.max);
  return whole * (0.6 + Math.random() * 0.4);
}
