import { describe, expect, it } from "vitest";
import { hintOf, noSuch, pick } from "#kernel/text.ts";

const sentinels = Array.from({ length: 12 }, (_, i) => `sentinel-${`${i + 1}`.padStart(2, "0")}`);

describe("the hint for a name that there is not", () => {
  it("is the name that was probably meant", () => {
    expect(noSuch("check", "shpo", [{ id: "shop" }, { id: "web" }])).toBe(
      "there is no check shpo: did you mean shop?",
    );
  });

  it("is each of a few names that are equally near", () => {
    expect(hintOf("sentinel-6", sentinels)).toBe(": did you mean sentinel-06?");
    expect(hintOf("gw-3", ["gw-1", "gw-2"])).toBe(": did you mean gw-1 or gw-2?");
  });

  it("is which names there are when none is near", () => {
    expect(noSuch("source", "mail", ["chat", "metrics"])).toBe(
      "there is no source mail; there are chat, metrics",
    );
    expect(noSuch("fleet", "qa", ["singleton"])).toBe(
      'there is no fleet qa; the only one is "singleton"',
    );
  });

  it("is the nearest ten when there are many", () => {
    expect(hintOf("gateway-of-tests-1", sentinels)).toMatch(
      /^; there are (?:[\w-]+, ){9}[\w-]+ and 2 more$/,
    );
  });

  it("says that there are none", () => {
    expect(noSuch("check", "shop", [])).toBe("there is no check shop; there are none");
  });

  it("repeats no control characters of the name", () => {
    expect(noSuch("check", "sh\u001b[31mop", [])).toContain("sh [31mop");
  });
});

it("of equally near names the neighbours are meant", () => {
  expect(hintOf("sentinel-13", sentinels)).toBe(
    ": did you mean sentinel-10 or sentinel-11 or sentinel-12?",
  );
});

describe("a row is picked by its name", () => {
  it("whether that is its id or its name", () => {
    expect(pick("source", "mail", [{ name: "chat" }, { name: "mail" }])).toEqual({ name: "mail" });
    expect(pick("check", "a", [{ id: "a", name: "b" }])).toEqual({ id: "a", name: "b" });
  });

  it("and one that there is not is refused with the code of its kind", () => {
    expect(() => pick("API check", "lives", [{ id: "liveness" }])).toThrow(
      expect.objectContaining({
        code: "unknown_check",
        message: 'there is no API check lives; the only one is "liveness"',
      }),
    );
  });
});
