/** Whoever may only read holds up no Cancel by thousands of reads. */
import { expect, it, vi } from "vitest";
import { createReadLimit } from "#kernel/read-limit.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";

const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const operators = { eve: ["read"], ada: ["operate"] } as const;

it.each(["control", "ingress", "admin"] as const)(
  "the %s has 100 reads of a caller open",
  async (place) => {
    const held = Promise.withResolvers<void>();
    const answer = (path: string) => (path.endsWith("Plan") ? held.promise : {});
    const { reached, ...bench } = await startAccessBench({ operators, answer });
    const url = `${bench[place]}${place === "admin" ? "/ingress" : ""}${rollout}`;
    const post = async (handler: string, as: string) => {
      const { status } = await fetch(`${url}/${handler}`, {
        method: "POST",
        headers: { authorization: `Bearer of-${as}`, "content-type": "application/json" },
        body: JSON.stringify(handler === "Plan" ? { image: "r.example.com/a:v1" } : {}),
      });
      return status;
    };
    const plans = Array.from({ length: 100 }, () => post("Plan", "eve"));
    await vi.waitFor(() => expect(reached).toHaveLength(100), 5_000);

    const more = [
      await post("Status", "eve"),
      await post("Status", "ada"),
      await post("Cancel", "ada"),
    ];
    held.resolve();

    expect(more).toEqual([429, 200, 200]);
    expect(new Set(await Promise.all(plans))).toEqual(new Set([200]));
    expect(await post("Status", "eve")).toBe(200);
  },
);

it.each([
  ["whose caller is gone", { signal: AbortSignal.abort() }],
  ["that is sent", { sentTo: "/a/Plan/send" }],
])("a read %s counts until its limit", async (_, call) => {
  const limit = createReadLimit(100);
  const read = () => limit({ reader: "eve", ...call }, () => Promise.reject(new Error("gone")));

  await Promise.allSettled(Array.from({ length: 100 }, read));
  const next = await read().catch(({ code }) => code);

  expect(next).toBe("too_many_reads");
  await vi.waitFor(() => expect(read()).rejects.toThrow("gone"), 2_000);
});
