import { expect, it } from "vitest";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import { compareMarks, refuseForeign } from "#api/keys/recoverable/ring-claim.ts";

/** A ring of keys such as "new" or "new!2": after the mark comes another key of that name. */
const marksOf = (...names: string[]) =>
  names.length === 0
    ? []
    : createKeyRing(
        names.map((name) => {
          const [id = "", variant = ""] = name.split("!");
          return `${id}:${Buffer.from(`${id}${variant}`.padEnd(32, "-")).toString("base64")}`;
        }),
      ).marks;

it.each<[string, string[], string[], string]>([
  ["the first", ["a"], [], "first"],
  ["the same", ["b", "a"], ["b", "a"], "same"],
  ["a new key before the others'", ["b", "a"], ["a"], "newer"],
  ["a key that is made known before it seals", ["a", "b"], ["a"], "newer"],
  ["what is left after a rotation", ["b"], ["b", "a"], "newer"],
  ["those of a process that was not rotated yet", ["a"], ["b", "a"], "older"],
  ["those of a rotation that is over", ["a"], ["b"], "foreign"],
  ["a new key without the earlier one", ["b"], ["a"], "foreign"],
  ["another key of the same name", ["a!2"], ["a"], "foreign"],
  ["another key of the same name that no longer seals", ["b", "a!2"], ["b", "a"], "foreign"],
])("%s: %j beside %j is %s", (_, own, kept, state) => {
  expect(compareMarks(marksOf(...own), marksOf(...kept)).state).toBe(state);
});

it("the verdict says which of the stored keys are taken away", () => {
  const verdict = compareMarks(marksOf("c", "b"), marksOf("b", "a"));

  expect(verdict).toEqual({ state: "newer", dropped: ["a"] });
});

it("the verdict says which key is missing, and what to do", () => {
  const verdict = compareMarks(marksOf("b"), marksOf("a"));

  expect(() => refuseForeign(verdict)).toThrow(
    /^api\.encryption_keys: the key "a" is missing, .*set the same keys at every process/,
  );
});

it("a mark tells nothing of its key, and is another for each", () => {
  const [one, two] = [marksOf("a")[0], marksOf("a!2")[0]];

  expect(one?.mark).toHaveLength(16);
  expect(one?.mark.equals(two?.mark ?? Buffer.alloc(16))).toBe(false);
  expect(Buffer.from("a".padEnd(32, "-")).includes(one?.mark ?? "")).toBe(false);
});
