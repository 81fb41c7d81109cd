/** Base64 as in gRPC-Web text: whole groups of four, with padding after any message. */
export const base64 = {
  encode: (bytes: Uint8Array) => Buffer.from(bytes).toString("base64"),

  /** Undefined if it is invalid. */
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
