import { describe, expect, it } from "vitest";
import { z } from "zod";
import { faultLines, got } from "#kernel/faults.ts";
import { flag, optionalUrl, wholeNumberIn } from "#kernel/setting.ts";

function faults(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return error === undefined ? [] : faultLines(error, "");
}

const seconds = z.int().min(0).max(60);

describe("a fault in words", () => {
  it.each([
    [
      wholeNumberIn({ min: 0, max: 65_535 }),
      "abc",
      "expected a whole number from 0 to 65535, got 'abc'",
    ],
    [
      wholeNumberIn({ min: 1, max: 9 }),
      "",
      "expected a whole number from 1 to 9, got an empty text",
    ],
    [wholeNumberIn({ min: 1, max: 9 }), 12, "expected a whole number from 1 to 9, got 12"],
    [z.int(), Number.NaN, "expected a whole number, got NaN"],
    [z.int(), 1.5, "expected a whole number, got 1.5"],
    [z.int().min(1), 0, "expected a whole number of at least 1, got 0"],
    [z.number().max(0.5), 2, "expected a number of at most 0.5, got 2"],
    [z.number(), [3], "expected a number, got a list"],
    [flag(), "maybe", "expected true or false, got 'maybe'"],
    [z.boolean(), "yes", "expected true or false, got 'yes'"],
    [z.enum(["pause", "rollback"]), "stop", `expected one of "pause", "rollback", got 'stop'`],
    [z.string(), null, "expected text, got null"],
    [z.array(z.int()), {}, "expected a list, got an object"],
    [z.strictObject({}), { a: 1, b: 2 }, 'unknown names "a", "b"'],
    [z.string().min(1), "", "must not be empty"],
    [z.string().max(3), "abcd", "expected at most 3 characters"],
    [z.string().length(3), "ab", "expected exactly 3 characters"],
    [z.array(z.int()).min(2), [1], "expected at least 2 items"],
    [z.url(), "x", "must be an address such as https://example.com"],
  ])("%#: %s", (schema, value, words) => {
    expect(faults(schema, value)).toEqual([words]);
  });

  it("says of a missing value that it is missing", () => {
    const schema = z.object({ seconds, any: z.union([seconds, z.array(seconds)]) });

    expect(faults(schema, {})).toEqual([
      "seconds: is missing: expected a whole number from 0 to 60",
      "any: is missing",
    ]);
  });

  it("names all kinds that a value may be, or what is wrong within the one that it is", () => {
    const either = z.union([seconds, z.array(seconds).min(1)]);

    expect(faults(either, "abc")).toEqual([
      "expected a whole number from 0 to 60 or a list, got 'abc'",
    ]);
    expect(faults(either, [5, "x"])).toEqual(["1: expected a whole number from 0 to 60, got 'x'"]);
  });

  it("leaves a schema its own words", () => {
    expect(faults(z.int({ error: "must be prime" }), "x")).toEqual(["must be prime"]);
  });

  it("is the same for those who ask a schema by itself, as Restate's SDK does", async () => {
    const result = await seconds["~standard"].validate("soon");

    expect(result.issues?.map(({ message }) => message)).toEqual([
      "expected a whole number from 0 to 60, got 'soon'",
    ]);
  });

  it.each([
    [z.string().length(64), "hunter2"],
    [z.string(), 4711],
    [optionalUrl(), "hunter2"],
    [z.union([z.literal(""), z.url()]), "hunter2"],
    [z.union([seconds, z.string().regex(/^\d+%$/)]), "hunter2"],
    [z.union([seconds, z.string().max(3)]), "hunter2"],
    [z.union([seconds, z.string()]), { token: "hunter2" }],
    [z.strictObject({}), "hunter2"],
    [z.array(z.string()), "hunter2"],
  ])("%#: does not show what may be a secret", (schema, value) => {
    const [fault, ...more] = faults(schema, value);

    expect(fault).toBeDefined();
    expect(more).toEqual([]);
    expect(fault).not.toMatch(/hunter2|4711/);
  });

  it("shows no more of a value than a line has room for, and nothing that moves a terminal's cursor", () => {
    const [fault = ""] = faults(seconds, `\u001b[2J${"x".repeat(1_000)}`);

    expect(fault.length).toBeLessThan(120);
    expect(fault).toMatch(/got ' \[2Jx+…'$/);
  });

  it("suggests the name that was probably meant instead of an unknown one", () => {
    const schema = z.strictObject({ control: z.string().optional(), api: z.string().optional() });

    expect(faults(schema, { contrl: 1 })).toEqual(['unknown name "contrl": did you mean control?']);
    expect(faults(schema, { worker: 1 })).toEqual(['unknown name "worker"']);
  });

  it("names a few of many unknown names", () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`n${index}`, 1]));

    const [fault = ""] = faults(z.strictObject({}), many);

    expect(fault).toMatch(/^unknown names "n0", .*"n9" and 990 more$/);
  });
});

it.each([
  ["soon", ", got 'soon'"],
  ["", ", got an empty text"],
  [5, ", got 5"],
  [null, ", got null"],
  [[1], ", got a list"],
])("after a schema's own words %j is shown as %s", (input, words) => {
  expect(got(input)).toBe(words);
});
