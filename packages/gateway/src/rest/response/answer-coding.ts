/** Compression of answers: RFC 9110 section 12.5.3. */
import type { Compression } from "@connectrpc/connect/protocol";

export type AnswerCoding = Pick<Compression, "name" | "compress">;

/** The codings of a route's answers, in order of preference: none if the router accepts none. */
export function chooseCodings(
  available: readonly AnswerCoding[],
  accepted: readonly Compression[],
): readonly AnswerCoding[] {
  const isOther = ({ name }: AnswerCoding) => available.every((one) => one.name !== name);
  return accepted.length === 0 ? [] : [...available, ...accepted.filter(isOther)];
}

/** Media types of text. Others, as images and archives, are compressed already. */
export const textTypes =
  /^(?:text\/[^\s;]+|application\/(?:json|javascript|xml|x-ndjson|yaml)|[^\s;]+\+(?:json|xml))\s*(?:;|$)/i;

/** The coding that the client prefers; the first of equals; undefined for none. */
export function chooseCoding(
  acceptEncoding: string,
  codings: readonly AnswerCoding[],
): AnswerCoding | undefined {
  const qualities = parsePreferences(acceptEncoding);
  const qualityOf = ({ name }: { readonly name: string }) => qualities.get(name) ?? 0;
  const least = qualityOf({ name: "identity" });
  const usable = codings.filter((one) => qualityOf(one) > 0 && qualityOf(one) >= least);
  return usable.sort((one, other) => qualityOf(other) - qualityOf(one))[0];
}

/** The qualities of an Accept or Accept-Encoding header, by name: RFC 9110 section 12.4.2. */
export function parsePreferences(header: string): ReadonlyMap<string, number> {
  const parts = header.split(",").map((part): [name: string, quality: number] => {
    const [name = "", ...parameters] = part.split(";").map((one) => one.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    return [name, quality === undefined ? 1 : Number(quality) || 0];
  });
  return new Map(parts);
}
