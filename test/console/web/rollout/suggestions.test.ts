import { describe, expect, it } from "vitest";
import { noteOf, sightOf, suggest } from "#console/web/rollout/suggestions.ts";
import type { SeenImage } from "#rollout/history/contract.ts";

const digest = (letter: string) => `@sha256:${letter.repeat(64)}`;
const app = "registry.example.com:5000/team/app";

const seen = (image: string, over: Partial<SeenImage> = {}): SeenImage => ({
  image,
  running: 0,
  rollout: null,
  ...over,
});

const rollout = {
  id: "r-1",
  started_at: "2026-01-01T10:00:00Z",
  state: "cancelled",
  outcome: "rolled_back",
  succeeded: 3,
  failed: 1_200,
};

const images = [
  seen(`${app}:v2${digest("a")}`, { running: 3, rollout }),
  seen("ghcr.io/other/proxy:7"),
  seen(`${app}:v1`, { running: 1 }),
];

const textsOf = (text: string) => suggest(text, images).map((one) => one.text);

describe("the suggestions", () => {
  it("are the repositories for a new tag, and then every image, the newest first", () => {
    expect(textsOf("")).toEqual([
      `${app}:`,
      "ghcr.io/other/proxy:",
      ...images.map(({ image }) => image),
    ]);
  });

  it("are those that have every word", () => {
    expect(textsOf("APP v1")).toEqual([`${app}:v1`]);
    expect(textsOf("nothing")).toEqual([]);
  });

  it("are the tags of a repository once it was chosen, and never what is typed already", () => {
    expect(textsOf(`${app}:`)).toEqual([`${app}:v2${digest("a")}`, `${app}:v1`]);
    expect(textsOf(`${app}:v1`)).toEqual([]);
  });

  it("stay open only for a repository", () => {
    expect(suggest("proxy", images).map(({ isStart }) => isStart)).toEqual([true, false]);
  });
});

describe("the note of an image", () => {
  it("says where it runs and how its newest rollout ended", () => {
    expect(noteOf(images[0] as SeenImage)).toMatch(
      /^runs on 3 sentinels; rolled out .+, rolled back, 1,200 failed$/,
    );
    expect(noteOf(images[1] as SeenImage)).toBe("ran before");
    expect(noteOf(images[2] as SeenImage)).toBe("runs on 1 sentinel");
  });

  it("has the state of a rollout that has not ended", () => {
    const running = { ...rollout, state: "in_progress", outcome: null, failed: 0 };

    expect(noteOf(seen("a:1", { rollout: running }))).toMatch(/^rolled out .+, in progress$/);
  });
});

describe("what is said of the typed image", () => {
  it.each(["", "registry", app, "registry.example.com:5000/team", `${app}:`])(
    "is nothing while it is only %j",
    (text) => {
      expect(sightOf(text, images)).toBeUndefined();
    },
  );

  it.each([
    `${app}:v1`,
    `${app}:v2`,
    `${app}:v2${digest("a")}`,
    `mirror/app${digest("a")}`,
    ` ${app}:v1 `,
  ])("is that %s was seen", (text) => {
    expect(sightOf(text, images)?.isSeen).toBe(true);
  });

  it("is that a tag was never seen, also one with another digest", () => {
    for (const text of [`${app}:v9`, `${app}:v2${digest("b")}`]) {
      expect(sightOf(text, images)).toEqual({
        isSeen: false,
        words: "This image was never seen in this fleet. Other tags of this repository were.",
      });
    }
  });

  it("is that not even its repository was seen, as of a mistyped one", () => {
    expect(sightOf("registry.example.com:5000/team/ap:v1", images)?.words).toBe(
      "This image was never seen in this fleet. Nor was its repository.",
    );
  });
});
