/** All items, when they have come to their end. @param all Gets them, also those before an error. */
export async function collect<T>(items: AsyncIterable<T>, all: T[] = []): Promise<T[]> {
  for await (const item of items) all.push(item);
  return all;
}
