/** The quick readers of the two hot bodies, beside the schemas that they stand in for. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { readKeyAlone, VerifyInput } from "#api/keys/verify/schemas.ts";
import { LimitInput, readUsualLimit } from "#api/ratelimit/decision.ts";

const runs = 100_000;

/** What a client may write and `JSON.stringify` never does. */
const rawTexts = fc.constantFrom(
  ...["-0", "-0.0", "0e5", "1.0", "1E3", "60e3", "60000.0", "1e400", "-1e400", "1e-400"],
  ...["9007199254740992", "9007199254740993", "0.1e1", "1000.0000000000000000001"],
  ...['"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0061"', '" "'],
);

/** A value from a body: what is right, nearly right, and anything that JSON has. */
const odd = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 6 }) },
  { weight: 3, arbitrary: fc.integer({ min: -2, max: 3_000 }) },
  fc.constantFrom(1_000, 999, 2_592_000_000, 2_592_000_001, 2 ** 53, 2 ** 63, 1e300, 1.5, -0),
  fc.constantFrom(
    "",
    "a\u0000",
    "\ud800",
    "😀",
    "é".repeat(512),
    "é".repeat(513),
    "😀".repeat(300),
  ),
  fc.constantFrom("a".repeat(512), "a".repeat(513)),
  fc.string({ unit: "binary", maxLength: 4 }),
  fc.jsonValue({ maxDepth: 2 }),
);

type Fields = Record<string, fc.Arbitrary<unknown>>;

/** A name, sometimes with its first letter as an escape. */
function writtenName(name: string): fc.Arbitrary<string> {
  const escaped = `\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${name.slice(1)}`;
  return fc.oneof({ weight: 8, arbitrary: fc.constant(name) }, fc.constant(escaped));
}

const words = fc.string({ minLength: 1, maxLength: 6 });

function bodyOf(fields: Fields) {
  const names = Object.keys(fields);
  const usual = new Map(Object.entries(fields));
  const someValue = (name: string) =>
    fc.oneof(
      { weight: 6, arbitrary: (usual.get(name) ?? odd).map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: odd.map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: rawTexts },
    );
  const known = fc.subarray(names, { minLength: Math.max(0, names.length - 2) });
  const others = fc.subarray(["__proto__", "constructor", "length", "0", "tags"], { maxLength: 1 });
  const twice = fc.subarray(names, { maxLength: 1 });
  const mostlyNone = (some: typeof twice) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, some);
  const some = fc.tuple(known, mostlyNone(others), mostlyNone(twice));
  const entries = some.chain((lists) =>
    fc.tuple(...lists.flat().map((name) => fc.tuple(writtenName(name), someValue(name)))),
  );
  const text = entries.map(
    (list) => `{${list.map(([name, value]) => `"${name}":${value}`).join(",")}}`,
  );
  return fc.oneof({ weight: 12, arbitrary: text }, fc.json({ maxDepth: 2 }));
}

it.each([
  { name: "keys.verifyKey", schema: VerifyInput, read: readKeyAlone, fields: { key: words } },
  {
    name: "ratelimit.limit",
    schema: LimitInput,
    read: readUsualLimit,
    fields: {
      namespace: words,
      identifier: words,
      limit: fc.integer({ min: 0, max: 50 }),
      duration: fc.integer({ min: 990, max: 2_592_000_009 }),
      cost: fc.integer({ min: -1, max: 9 }),
    },
  },
])("what is read quickly of $name is what its schema reads", ({ schema, read, fields }) => {
  let recognized = 0;
  fc.assert(
    fc.property(bodyOf(fields), (json) => {
      const body: unknown = JSON.parse(json);
      const quick = read(body);
      if (quick === undefined) return;
      recognized += 1;
      const { success, data } = schema.safeParse(body);
      expect(success).toBe(true);
      expect(quick).toEqual(data);
    }),
    { numRuns: runs, seed: 17 },
  );

  expect(recognized).toBeGreaterThan(runs / 20);
});

it("the bodies that most callers send are read quickly", () => {
  const limit = { namespace: "emails", identifier: "user_42", limit: 10, duration: 60_000 };

  expect(readKeyAlone({ key: "sk_1" })).toEqual({ key: "sk_1" });
  expect(readUsualLimit(limit)).toEqual({ ...limit, cost: 1 });
  expect(readUsualLimit({ ...limit, cost: 0 })).toEqual({ ...limit, cost: 0 });
});
