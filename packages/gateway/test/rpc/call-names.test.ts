import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { codeNameOf } from "../../src/rpc/call-names.ts";

test("codes have the names of google.rpc.Code, and success is OK", () => {
  const codes = Object.values(Code).filter((code) => typeof code === "number");
  const names = codes.map((code) =>
    Code[code]
      .replace(/\B[A-Z]/g, "_$&")
      .toUpperCase()
      .replace("CANCELED", "CANCELLED"),
  );
  expect(codes.map(codeNameOf)).toEqual(names);
  expect(codeNameOf(undefined)).toBe("OK");
});
