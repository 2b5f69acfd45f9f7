/** The quick readers of the two hot bodies, beside the schemas that they stand in for. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { readKeyAlone, VerifyInput } from "#api/keys/verify/schemas.ts";
import { LimitInput, readUsualLimit } from "#api/ratelimit/decision.ts";

const runs = 100_000;

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

const words = fc.string({ minLength: 1, maxLength: 6 });

function bodyOf(fields: Fields) {
  const names = Object.keys(fields);
  const usual = new Map(Object.entries(fields));
  const someValue = (name: string) =>
    fc.oneof({ weight: 3, arbitrary: usual.get(name) ?? odd }, { weight: 1, arbitrary: odd });
  const known = fc.subarray(names, { minLength: Math.max(0, names.length - 2) });
  const others = fc.subarray(["__proto__", "constructor", "length", "0", "tags"], { maxLength: 1 });
  const some = fc.tuple(known, fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, others));
  const entries = some.chain(([one, other]) =>
    fc.tuple(...[...one, ...other].map((name) => fc.tuple(fc.constant(name), someValue(name)))),
  );
  const text = entries.map(
    (list) => `{${list.map(([name, value]) => `"${name}":${JSON.stringify(value)}`).join(",")}}`,
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
