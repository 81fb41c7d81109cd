import { describe, expect, test, vi } from "vitest";
import { backoffMs } from "../../src/client/subchannel.ts";

describe("the pause before another attempt", () => {
  test.each([
    [0, 0, 0],
    [1, 30, 50],
    [2, 60, 100],
    [3, 120, 200],
    [4, 240, 400],
    [5, 300, 500],
    [100, 300, 500],
  ])("after %d failures is from %d to %d ms", (failures, least, most) => {
    const random = vi.spyOn(Math, "random");
    random.mockReturnValueOnce(0).mockReturnValueOnce(1);
    expect(backoffMs(failures)).toBeCloseTo(least);
    random.mockReturnValue(1);
    expect(backoffMs(failures)).toBeCloseTo(most);
    random.mockRestore();
  });
});
