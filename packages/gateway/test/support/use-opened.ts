import { beforeAll } from "vitest";

/** What `open` opens, for all tests of a file or of a `describe`. Closed after the last of them. */
export function useOpened<T extends AsyncDisposable>(open: () => Promise<T>): T {
  const used = {} as T;
  beforeAll(async () => {
    const opened = await open();
    Object.assign(used, opened);
    return () => opened[Symbol.asyncDispose]();
  });
  return used;
}
