import { expect, it } from "vitest";
import { shareReads } from "#console/server/views.ts";

function startReads(atOnce: number) {
  const asked: string[] = [];
  const answering: (() => void)[] = [];
  const read = shareReads(
    async (fleet: string, search: { page: number }) => {
      asked.push(`${fleet} ${search.page}`);
      await new Promise<void>((resolve) => answering.push(resolve));
      return { fleet, ...search };
    },
    { atOnce },
  );
  const answerAll = async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      for (const answer of answering.splice(0)) answer();
      await Promise.resolve();
    }
  };
  return { asked, read, answerAll };
}

it("gives one answer to all who ask the same at the same time, and a moment later", async () => {
  const { asked, read, answerAll } = startReads(2);

  const both = [read("eu", { page: 1 }), read("eu", { page: 1 })];
  await answerAll();
  const answers = [...(await Promise.all(both)), await read("eu", { page: 1 })];

  expect(asked).toEqual(["eu 1"]);
  expect(answers).toEqual(Array(3).fill({ fleet: "eu", page: 1 }));
});

it("lets others wait while as many different ones are under way as may be", async () => {
  const { asked, read, answerAll } = startReads(1);

  const both = [read("eu", { page: 1 }), read("eu", { page: 2 })];
  await Promise.resolve();
  const before = [...asked];
  const answered = Promise.all(both);
  while (asked.length < 2) {
    await answerAll();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await answerAll();

  expect(before.length).toBeLessThanOrEqual(1);
  expect((await answered).map(({ page }) => page)).toEqual([1, 2]);
});

it("passes a failure on, and asks again for the next one", async () => {
  let times = 0;
  const read = shareReads(
    async () => {
      times += 1;
      if (times === 1) throw new Error("the database is away");
      return { times };
    },
    { atOnce: 1 },
  );

  await expect(read()).rejects.toThrow("the database is away");
  expect(await read()).toEqual({ times: 2 });
});
