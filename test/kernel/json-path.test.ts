import { describe, expect, it } from "vitest";
import { findJsonPathFault, parseJsonPath, valueAt, writeJsonPath } from "#kernel/json-path.ts";

describe("a path is understood in each of the usual spellings", () => {
  it.each([
    ["data.valid", ["data", "valid"]],
    ["$.data.valid", ["data", "valid"]],
    ["$['data']['valid']", ["data", "valid"]],
    ['$["data"].valid', ["data", "valid"]],
    ["list[0].ok", ["list", 0, "ok"]],
    ["list.0.ok", ["list", 0, "ok"]],
    ["[0].ok", [0, "ok"]],
    ["$[0].ok", [0, "ok"]],
    ["0.ok", [0, "ok"]],
    ['a["b.c"]', ["a", "b.c"]],
    ["a['b.c'][2]", ["a", "b.c", 2]],
    ['["b.c"]', ["b.c"]],
    ['a["it\'s"]', ["a", "it's"]],
    ["a['it\\'s']", ["a", "it's"]],
    ["a['say \"hi\"']", ["a", 'say "hi"']],
    ['a["\\u00e4\\\\"]', ["a", "ä\\"]],
    ['a["]"]', ["a", "]"]],
    ['a[""]', ["a", ""]],
    ['["$schema"]', ["$schema"]],
    ["data.$ref", ["data", "$ref"]],
    ["@type", ["@type"]],
    ["größe.x-y_z:é", ["größe", "x-y_z:é"]],
    ["$", []],
  ])("%s", (text, path) => {
    expect(parseJsonPath(text)).toEqual(path);
  });
});

describe("what is no path to one value is refused, with the right spelling", () => {
  it.each([
    ["/data/valid", "data.valid"],
    ["#/a/0/b~1c", 'a[0]["b/c"]'],
    [".data", "data"],
    ["data.", "data"],
    ["a..b", "a.b"],
    [" data.valid ", "data.valid"],
    ["a . b", "a.b"],
    ["data valid", '["data valid"]'],
    ["a.[0]", "a[0]"],
    ["a[b]", "a.b"],
    ["a[ 0 ]", "a[0]"],
    ["a[01]", 'a["01"]'],
    ['a."b.c"', 'a["b.c"]'],
    ["a\\.b", '["a.b"]'],
    ["$status", "status"],
    ["$.", "$"],
    ["data.valid()", "data.valid"],
  ])("%s", (text, spelling) => {
    expect(findJsonPathFault(text)).toBe(`is no path to one value: write ${spelling}`);
    expect(parseJsonPath(spelling)).toBeDefined();
  });

  it.each(["a[*].b", "*", "$..a", "a[-1]", "a[1:2]", "a[0,1]", "a[?(@.b == 1)]", "a[?@.b]"])(
    "%s, which may find several values or counts from the end",
    (text) => {
      expect(findJsonPathFault(text)).toContain("a path leads to one value by names and places");
    },
  );

  it.each(["", "  "])("an empty one: '%s'", (text) => {
    expect(findJsonPathFault(text)).toBe("is empty: write $ for the whole body");
  });

  it.each([
    'a["b',
    "a[0",
    "a]",
    "a['b\"]",
    "a[]",
    "{{NAME}}",
    "a[12345678901234567890]",
    "a['\\x']",
  ])("%s", (text) => {
    expect(findJsonPathFault(text)).toMatch(/^is no path to one value/);
  });

  it("one of 500 quotes and brackets at once", () => {
    const startedMs = performance.now();

    for (const part of ["[", "['", '"', "\\", "a.", "[?("]) findJsonPathFault(part.repeat(250));

    expect(performance.now() - startedMs).toBeLessThan(100);
  });
});

describe("the value at a path", () => {
  const body = { data: { roles: ["a", "b"], "0": "zero" }, "b.c": null };

  it.each([
    ["data.roles[1]", "b"],
    ["data.roles.1", "b"],
    ["data.0", "zero"],
    ["['b.c']", null],
    ["data.roles[2]", undefined],
    ["data.toString", undefined],
    ["__proto__", undefined],
    ["data.roles[0].x", undefined],
  ])("%s is %j", (text, value) => {
    expect(valueAt(parseJsonPath(text) ?? [], body)).toBe(value);
  });

  it("$ is the whole of it", () => {
    expect(valueAt([], "OK")).toBe("OK");
  });
});

it("a path is written as RFC 9535 has it", () => {
  expect(writeJsonPath(["a", 0, "b.c", "it's", "x-y"])).toBe('$.a[0]["b.c"]["it\'s"]["x-y"]');
});
