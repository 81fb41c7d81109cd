import { expect, test } from "vitest";
import { addressKey, plainAddress } from "../../src/http/address-key.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["1::ffff:192.0.2.1", "1:0:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:0:0:1::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["1::", "1:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["1::4:5:6:192.0.2.1", "1:0:0:4::/64"],
])("an address counts as %s: %s", (address, key) => {
  expect(addressKey(address)).toBe(key);
});

test.each([
  ["::FFFF:192.0.2.1", "192.0.2.1"],
  [undefined, undefined],
])("the address %s is %s", (address, plain) => {
  expect(plainAddress(address)).toBe(plain);
});
