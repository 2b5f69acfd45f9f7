import { expect, it } from "vitest";
import { engineError } from "#api/analytics/engine/engine-error.ts";
import { createReadLastUses } from "#api/analytics/usage.ts";

const failing = (error: Error) => ({ database: "vedette", query: () => Promise.reject(error) });

it("the sync of last uses finds no uses where there is no store, and looks again from the same time", async () => {
  const read = createReadLastUses(failing(engineError("absent")));

  expect(await read(null, 0)).toEqual({ uses: [], cursor: null, isDone: true });
  expect(await read("12/key_1/10", 0)).toEqual({ uses: [], cursor: "12/key_1/10", isDone: true });
});

it("the sync of last uses fails while the store is away, so that it is tried again", async () => {
  await expect(createReadLastUses(failing(engineError("away")))(null, 0)).rejects.toThrow(
    "cannot be reached",
  );
});

it("the sync of last uses asks nothing of a store that has no verification since, and goes on as if it had", async () => {
  const asked: string[] = [];
  const store = (verifiedAtMs: number) => ({
    database: "vedette",
    query: async ({ sql }: { sql: string }) => {
      asked.push(sql);
      return [];
    },
    mayVerifySince: (sinceMs: number) => sinceMs <= verifiedAtMs,
  });
  const nowMs = 100 * 60_000;
  const cursor = `${80 * 60_000}/`;

  const skipped = await createReadLastUses(store(80 * 60_000 - 1))(cursor, nowMs);
  expect(asked).toEqual([]);
  const read = await createReadLastUses(store(80 * 60_000))(cursor, nowMs);

  expect(asked).toHaveLength(1);
  expect(skipped).toEqual(read);
});
