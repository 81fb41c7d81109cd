import { networkInterfaces } from "node:os";

export const hasIpv6: boolean = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
);
