/** Base64 as gRPC-Web text has it: whole groups of four, with padding behind any message. */
export const base64 = {
  encode: (bytes: Uint8Array) => Buffer.from(bytes).toString("base64"),

  /** Undefined for what is not. */
  decode(text: string): Buffer | undefined {
    const groups = text.match(/.{4}/gs) ?? [];
    if (groups.length * 4 !== text.length) return undefined;
    const parts = groups.map((group) => Buffer.from(group, "base64"));
    const isRight = parts.every((part, i) => {
      const digits = groups[i]?.replace(/={1,2}$/, "") ?? "";
      return /^[A-Za-z\d+/]*$/.test(digits) && part.length === digits.length - 1;
    });
    return isRight ? Buffer.concat(parts) : undefined;
  },
};
