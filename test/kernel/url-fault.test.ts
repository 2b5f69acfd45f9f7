import { describe, expect, it } from "vitest";
import { findUrlFault, httpSchemes } from "#kernel/address.ts";

const http = { schemes: httpSchemes, example: "https://shop.example.com" };
const base = { ...http, isBase: true, insteadOfUser: "leave it out" };
const postgres = {
  schemes: ["postgresql", "postgres"],
  example: "postgresql://user:password@db.example.com/vedette",
};

describe("an address is refused with what is wrong with it", () => {
  it.each([
    ["", "is empty: give an address such as https://shop.example.com"],
    [" https://a.example", "begins or ends with a blank or a line end: remove it"],
    ["https://a.example\n", "begins or ends with a blank or a line end: remove it"],
    ["https://a.example/b c", "has a blank or a line end in it: a blank is written %20"],
    ["https://a.example\t/b", "has a blank or a line end in it: a blank is written %20"],
    ["https://a.example/#top", "has a #, after which nothing counts: write it as %23"],
    ["https:\\\\a.example", "has a backslash: write / or %5C"],
    ["a.example", "has to be a whole address such as https://shop.example.com"],
    ["localhost:7070", "has to be a whole address such as https://shop.example.com"],
    ["https:/a.example", "has to be a whole address such as https://shop.example.com"],
    ["ftp://a.example", "has to begin with https:// or http://"],
    ["https://http://a.example", "has two schemes: leave one"],
    ["https://user:pw@a.example", "has a user or a password: leave it out"],
    ["https://token@a.example", "has a user or a password: leave it out"],
    ["https://a.example/?", "has a ?, and paths are added to it: leave it out"],
    ["https://a.example?b=c", "has a ?, and paths are added to it: leave it out"],
    ["http://2001:db8::1/", "has an address of IPv6 without brackets: write it as [2001:db8::1]"],
    ["http://::1:8080/", "has an address of IPv6 without brackets: write it as [2001:db8::1]"],
    ["https://a.example:70000/", "has a port that is no number from 0 to 65535"],
    ["https://a.example:http/", "has a port that is no number from 0 to 65535"],
    ["https:///path", "names no host"],
    ["https://a%zz/", "is no address such as https://shop.example.com"],
  ])("%j", (given, fault) => {
    expect(findUrlFault(given, base)).toBe(fault);
  });

  it.each([
    [
      "postgres://user:se#cret@db.example/v",
      "has a #, after which nothing counts: write it as %23",
    ],
    [
      "postgres://user:se/cret@db.example/v",
      "has a / or ? in its password: write them as %2F and %3F",
    ],
    [
      "postgres://user:se?cret@db.example/v",
      "has a / or ? in its password: write them as %2F and %3F",
    ],
    ["host=db.example user=v", "has a blank or a line end in it: a blank is written %20"],
    ["mysql://db.example/v", "has to begin with postgresql:// or postgres://"],
    [
      "postgres://a.example:5432,b.example:5432/v",
      "is no address such as postgresql://user:password@db.example.com/vedette",
    ],
  ])("of Postgres: %j", (given, fault) => {
    expect(findUrlFault(given, postgres)).toBe(fault);
  });
});

it("a password of digits and a slash is no port", () => {
  expect(findUrlFault("postgres://user:12/34@db.example/v", postgres)).toBe(
    "has a / or ? in its password: write them as %2F and %3F",
  );
});

it.each([
  "https://a.example",
  "HTTPS://A.example:8443/b?c=d@e",
  "http://[2001:db8::1]:80/",
  "http://[::1]",
  "https://user:p%23w@a.example/",
  "http://127.0.0.1:0",
])("the address %s is fine", (given) => {
  expect(findUrlFault(given, http)).toBeUndefined();
});

it.each([
  "postgres://user:p%23w@db.example:5432/vedette?sslmode=require",
  "postgresql:///vedette?host=/var/run/postgresql",
  "postgresql://user:pw@/vedette?host=/var/run/postgresql",
  "postgresql://%2Fvar%2Frun%2Fpostgresql/vedette",
  "postgresql://user:p@ss@db.example/vedette",
  "postgresql://db.example:5432/vedette?application_name=a@b",
])("the address of Postgres %s is fine", (given) => {
  expect(findUrlFault(given, postgres)).toBeUndefined();
});

it("no fault quotes the address", () => {
  const given = "postgres://user:hunter2#x@db.example/v";

  for (const part of [
    given,
    ` ${given}`,
    given.replace("#", "/"),
    given.replace("postgres", "x"),
  ]) {
    expect(findUrlFault(part, postgres)).not.toContain("hunter2");
  }
});
