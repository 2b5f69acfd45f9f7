import { expect, it } from "vitest";
import { onceAtATime } from "#kernel/async.ts";

function countingWork() {
  const gates: PromiseWithResolvers<number>[] = [];
  const work = () => {
    const gate = Promise.withResolvers<number>();
    gates.push(gate);
    return gate.promise;
  };
  return { gates, ask: onceAtATime(work) };
}

it("all who ask while work is under way get its one result", async () => {
  const { gates, ask } = countingWork();

  const asked = [ask(), ask(), ask()];
  gates[0]?.resolve(7);

  expect(await Promise.all(asked)).toEqual([7, 7, 7]);
  expect(gates).toHaveLength(1);
});

it("work begins anew for who asks after its end", async () => {
  const { gates, ask } = countingWork();
  const first = ask();
  gates[0]?.resolve(1);
  await first;

  const second = ask();
  gates[1]?.resolve(2);

  expect(await second).toBe(2);
});

it("work that has failed is not remembered", async () => {
  const { gates, ask } = countingWork();
  const first = ask();
  gates[0]?.reject(new Error("away"));
  await expect(first).rejects.toThrow("away");

  const second = ask();
  gates[1]?.resolve(2);

  expect(await second).toBe(2);
});
