import { expect, it } from "vitest";
import { httpUrl, isListed, isThisMachine } from "#kernel/address.ts";

it.each([
  [["10.0.0.1"], "10.0.0.1", true],
  [["10.0.0.1"], "10.0.0.2", false],
  [["10.0.0.0/8"], "10.200.3.4", true],
  [["10.0.0.0/8"], "11.0.0.1", false],
  [["10.0.0.0/8"], "::ffff:10.1.2.3", true],
  [["2001:db8::/32"], "2001:db8::1", true],
  [["2001:db8::1"], "2001:db8::2", false],
  [[" 10.0.0.1 ", "192.168.0.1"], "192.168.0.1", true],
  [["10.0.0.0/99", "nonsense"], "10.0.0.1", false],
  [["10.0.0.1"], "unknown", false],
  [["fe80::/10"], "fe80::1%eth0", true],
  [["nonsense"], "fe80::1%eth0", false],
])("%j holds %s: %s", (entries, address, expected) => {
  expect(isListed(entries, address)).toBe(expected);
});

it.each([
  ["127.0.0.1", "http://127.0.0.1:7071"],
  ["control.example.com", "http://control.example.com:7071"],
  ["::1", "http://[::1]:7071"],
])("writes %s as a URL's host", (host, url) => {
  expect(httpUrl({ host, port: 7071 })).toBe(url);
  expect(URL.canParse(url)).toBe(true);
});

it.each([
  ["localhost", true],
  ["127.0.0.1", true],
  ["127.8.9.1", true],
  ["[::1]", true],
  ["[::]", true],
  ["0.0.0.0", true],
  ["[::ffff:7f00:1]", true],
  ["127.0.0.1.example.com", false],
  ["10.0.0.1", false],
  ["[2001:db8::1]", false],
])("%s is on this machine: %s", (hostname, expected) => {
  expect(isThisMachine(hostname)).toBe(expected);
});
