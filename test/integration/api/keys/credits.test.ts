/** Credits that are spent while others are added: every one is paid for, over two processes. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { spendCredits } from "#api/keys/verify/credits.ts";
import { createRefillKeys } from "#api/upkeep/refill.ts";
import type { Database } from "#kernel/database.ts";
import { startApiNode, startTestApi, type TestApi } from "../../../support/api/api.ts";

let first: TestApi;
let second: Awaited<ReturnType<typeof startApiNode>>;
let rootKey: string;
let apiId: string;

beforeAll(async () => {
  first = await startTestApi();
  second = await startApiNode(first.server.url);
  ({ rootKey } = await first.createWorkspace());
  ({ apiId } = (await first.client(rootKey).apis.createApi({ name: "payments" })).data);
});

afterAll(async () => {
  await second?.stop();
  await first?.stop();
});

const newKey = async (credits: { remaining: number; refill?: object }) =>
  (await first.call("keys.createKey", { apiId, credits }, rootKey)).body.data as {
    keyId: string;
    key: string;
  };

const remainingOf = async (keyId: string): Promise<number> =>
  (await first.call("keys.getKey", { keyId }, rootKey)).body.data.credits.remaining;

const isValid = async (index: number, key: string): Promise<boolean> => {
  const node = index % 2 === 0 ? first : second;
  return (await node.call("keys.verifyKey", { key }, rootKey)).body.data.valid;
};

it("answers VALID no more often than credits are taken, beside top-ups", { retry: 0 }, async () => {
  const { keyId, key } = await newKey({ remaining: 0 });
  const topUps = 150;

  const [verified] = await Promise.all([
    Promise.all(Array.from({ length: 600 }, (_, index) => isValid(index, key))),
    (async () => {
      for (let count = 0; count < topUps; count += 1) {
        const body = { keyId, operation: "increment", value: 1 };
        await second.call("keys.updateCredits", body, rootKey);
      }
    })(),
  ]);

  const paid = verified.filter(Boolean).length;
  expect(paid + (await remainingOf(keyId))).toBe(topUps);
});

it("answers VALID no more often than credits are taken, beside refills", { retry: 0 }, async () => {
  const amount = 3;
  const { keyId, key } = await newKey({ remaining: 0, refill: { interval: "daily", amount } });
  const refill = createRefillKeys(second.database);
  const rounds = 40;

  const [verified, given] = await Promise.all([
    Promise.all(Array.from({ length: 400 }, (_, index) => isValid(index, key))),
    (async () => {
      let sum = 0;
      for (let day = 1; day <= rounds; day += 1) {
        // Only an empty one, so that what is given is known.
        const todayMs = Date.now() + day * 86_400_000;
        if ((await remainingOf(keyId)) > 0) continue;
        sum += amount * (await refill({ todayMs, days: [], after: "" })).refilled;
      }
      return sum;
    })(),
  ]);

  const paid = verified.filter(Boolean).length;
  expect(paid + (await remainingOf(keyId))).toBe(given);
});

/** A database in which something happens right after a statement that took nothing. */
function interrupted(between: () => Promise<unknown>): Database {
  let isDone = false;
  const query = async (statement: { name: string }) => {
    const result = await first.database.query(statement as never);
    if (statement.name === "spend-credits" && !isDone) {
      isDone = true;
      await between();
    }
    return result;
  };
  return { query } as unknown as Database;
}

it("takes the credits that came between two looks", async () => {
  const { keyId } = await newKey({ remaining: 0 });
  const topUp = () =>
    second.call("keys.updateCredits", { keyId, operation: "increment", value: 5 }, rootKey);

  const spending = await spendCredits(interrupted(topUp), keyId, 2);

  expect(spending).toEqual({ isPaid: true, remaining: 3 });
  expect(await remainingOf(keyId)).toBe(3);
});

it("takes nothing from a key that has just become unlimited", async () => {
  const { keyId } = await newKey({ remaining: 0 });
  const lift = () => second.call("keys.updateCredits", { keyId, operation: "set" }, rootKey);

  expect(await spendCredits(interrupted(lift), keyId, 2)).toEqual({
    isPaid: true,
    remaining: null,
  });
});

it("is not paid by a key that has just been deleted for good", async () => {
  const { keyId } = await newKey({ remaining: 1 });
  await first.call("keys.deleteKey", { keyId, permanent: true }, rootKey);

  expect(await spendCredits(first.database, keyId, 1)).toEqual({ isPaid: false, remaining: 0 });
});
