import { expect, it } from "vitest";
import { readAddress } from "#cli/checks/definitions.ts";

it.each([
  ["tcp://db.example.com:5432", { kind: "tcp", host: "db.example.com", port: 5432 }],
  ["TCP://[2001:db8::1]:25/", { kind: "tcp", host: "2001:db8::1", port: 25 }],
  ["tls://shop.example.com", { kind: "tls", host: "shop.example.com" }],
  ["tls://shop.example.com:8443", { kind: "tls", host: "shop.example.com", port: 8443 }],
  ["dns:example.com", { kind: "dns", domain: "example.com" }],
  ["https://shop.example.com/a?b#c", { url: "https://shop.example.com/a?b#c" }],
  ["shop.example.com", { url: "shop.example.com" }],
])("%s is %j", (address, fields) => {
  expect(readAddress(address).fields).toEqual(fields);
});

it.each([
  ["tcp://db.example.com:5432", "db.example.com:5432"],
  ["dns:example.com", "example.com-dns"],
  ["tls://example.com", "example.com-tls"],
  ["https://shop.example.com/a?b#c", "shop.example.com/a"],
])("an id is made of %s without what is no name", (address, bare) => {
  expect(readAddress(address).bare).toBe(bare);
});

it.each([
  "tcp://db.example.com",
  "tcp://:5432",
  "tcp://db.example.com:5432/a",
  "tcp://ada:secret@db.example.com:5432",
  "tls://",
  "tls://2001:db8::1",
])("%s is refused, with an example", (address) => {
  expect(() => readAddress(address)).toThrow(/is not an address such as t(?:cp|ls):\/\/\w/);
});
