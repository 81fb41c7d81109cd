import { expect, test } from "vitest";
import { isThisMachine, localUrl } from "../../src/settings/place.ts";

test.each([
  ["localhost", true],
  ["LocalHost.", true],
  ["127.0.0.1", true],
  ["127.100.100.100", true],
  ["::1", true],
  ["[::1]", true],
  ["0:0:0:0:0:0:0:1", true],
  ["::ffff:127.0.0.1", true],
  ["localhost.example", false],
  ["127.0.0.1.example", false],
  ["127.evil.example", false],
  ["x127.0.0.1", false],
  ["128.0.0.1", false],
  ["::2", false],
  ["0.0.0.0", false],
  ["::", false],
])("%s is this machine: %s", (host, isLocal) => {
  expect(isThisMachine(host)).toBe(isLocal);
});

test.each([
  ["constructor", "http://constructor:80"],
  ["0.0.0.0", "http://127.0.0.1:80"],
  ["::", "http://[::1]:80"],
  ["fd00::1", "http://[fd00::1]:80"],
])("what listens at %s is reached by %s", (host, url) => {
  expect(localUrl("http", host, 80)).toBe(url);
});
