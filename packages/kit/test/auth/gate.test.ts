import { createContextValues } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { type Gate, inOrder } from "../../src/auth/bearer.ts";

const context = {
  requestHeader: new Headers(),
  responseHeader: new Headers(),
  values: createContextValues(),
};

test.each([
  ["at once", (run: () => void) => run()],
  ["later", (run: () => void) => Promise.resolve().then(run)],
])("a second gate sees what the first accepts, %s, and nothing else", async (_, when) => {
  const passed: string[] = [];
  const second: Gate = () => void passed.push("second");
  await inOrder(() => when(() => passed.push("first")), second)(context);
  expect(passed).toEqual(["first", "second"]);
  const refusing = async () =>
    await inOrder(
      () =>
        when(() => {
          throw new Error("refused");
        }),
      second,
    )(context);
  await expect(refusing()).rejects.toThrow("refused");
  expect(passed).toEqual(["first", "second"]);
});

test("two gates that need no wait are one", () => {
  const nothing = () => {};
  expect(inOrder(nothing, nothing)(context)).toBeUndefined();
});
