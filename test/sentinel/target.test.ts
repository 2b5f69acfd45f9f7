import { describe, expect, it } from "vitest";
import { targetOf } from "#sentinel/forward.ts";

const pathOf = (url: string, basePath = "") => targetOf({ url }, basePath).path;

describe("targetOf", () => {
  it.each([
    "/",
    "/x",
    "//host/x",
    "/a%2fb",
    "/a//b/",
    "/a.b/..c/d..",
    "/a?b=../c&d=%2e%2e",
    '/a?filter={"b":[1,2]}',
    "/a%252e%252e/b",
  ])("leaves %s as it is", (url) => {
    expect(pathOf(url)).toBe(url);
  });

  it("prepends the path of the upstream", () => {
    expect(pathOf("//host/x?y", "/base")).toBe("/base//host/x?y");
  });

  it.each([
    ["http://other/x?y", "/x?y", "other"],
    ["HTTPS://other:8080", "/", "other:8080"],
    ["http://[::1]:80?y", "/?y", "[::1]:80"],
  ])("parses the absolute %s", (url, path, authority) => {
    expect(targetOf({ url }, "")).toEqual({ path, authority });
  });

  it.each([
    "*",
    "x",
    "",
    "?x",
    "http://user@other/x",
    "http:///x",
    "ftp://other/x",
    "http://other\\x",
    "/a\\..\\b",
    "/a#b",
    "/a b",
    "/\u00e4",
    "/..",
    "/a/../b",
    "/a/./b",
    "/a/%2e%2E/b",
    "/a/.%2e",
    "/a%2f..%2fb",
    "/a%5c..%5Cb",
    "/..;x=1/b",
    "/..%3Bx/b",
    "http://other/../b",
  ])("refuses %s", (url) => {
    expect(() => pathOf(url, "/base")).toThrow("the target of the request is not clear");
  });
});
