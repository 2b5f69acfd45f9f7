/** Nobody holds up a Cancel by thousands of reads, starts or pushes. */
import { expect, it, vi } from "vitest";
import { createOpenLimit } from "#kernel/open-limit.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";

const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const pair = { eve: ["operate"], ada: ["operate"] } as const;
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

it.each(["control", "ingress", "admin"] as const)(
  "the %s has 20 starts of a caller open, and refuses no Cancel, no Pause and no start of another",
  async (place) => {
    const held = Promise.withResolvers<void>();
    const answer = (path: string) => (/(?:Rollout|Cancel|Pause)$/.test(path) ? held.promise : {});
    const { reached, ...bench } = await startAccessBench({ operators: pair, answer });
    const url = `${bench[place]}${place === "admin" ? "/ingress" : ""}${rollout}`;
    const post = async (handler: string, as: string) => {
      const { status } = await fetch(`${url}/${handler}`, {
        method: "POST",
        headers: { authorization: `Bearer of-${as}`, "content-type": "application/json" },
        body: JSON.stringify(handler === "Rollout" ? { image: "r.example.com/a:v1" } : {}),
      });
      return status;
    };
    const open = [...Array(20).fill("Rollout"), ...Array(30).fill("Cancel"), "Pause"];
    const answers = open.map((handler: string) => post(handler, "eve"));
    await vi.waitFor(() => expect(reached).toHaveLength(open.length), 5_000);

    const more = [
      await post("Rollout", "eve"),
      await post("RollbackAll", "eve"),
      post("Rollout", "ada"),
    ];
    await vi.waitFor(() => expect(reached).toHaveLength(open.length + 2), 5_000);
    held.resolve();

    expect(await Promise.all(more)).toEqual([429, 200, 200]);
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
    expect(await post("Rollout", "eve")).toBe(200);
  },
);

const sends: Record<string, (i: number) => string> = {
  eve: (i) => `${i % 2 === 0 ? "RolloutPins" : "RolloutWindows"}/List`,
  ola: (i) => `ApiCheck/check-${i}/Run`,
  nat: (i) => `SentinelService/gw-${i}/NotifyReady`,
};

it.each(["control", "ingress", "admin"] as const)(
  "the %s takes 100 sends of a caller, whatever they name, no start of an unknown fleet, and a Cancel",
  async (place) => {
    const roles = { eve: ["read"], ola: ["operate"], nat: ["notify"], ada: ["operate"] } as const;
    const { reached, ...bench } = await startAccessBench({ operators: roles });
    const url = `${bench[place]}${place === "admin" ? "/ingress" : ""}`;
    const post = async (path: string, as: string, body: object = {}) => {
      const { status } = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer of-${as}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return status;
    };
    for (const [as, pathOf] of Object.entries(sends)) {
      const body = as === "nat" ? { image: "r.example.com/a:v1" } : {};
      const send = (_: unknown, i: number) => post(`/vedette.v1.${pathOf(i)}/send`, as, body);
      const before = reached.length;

      const statuses = await Promise.all(Array.from({ length: 130 }, send));

      expect([as, statuses.filter((status) => status === 429).length]).toEqual([as, 30]);
      expect(reached).toHaveLength(before + 100);
    }
    const image = "r.example.com/a:v1";
    const unknown = rollout.replace("singleton", "f1");
    const started = await post(`${unknown}/Rollout/send`, "ola", { image });
    expect([started, await post(`${rollout}/Cancel`, "ada")]).toEqual([404, 200]);
  },
);

it.each([
  ["whose caller is gone", { signal: AbortSignal.abort() }],
  ["that is sent", { isSent: true }],
])("a read %s counts until its limit", async (_, call) => {
  const limit = createOpenLimit({ heldMs: 100 });
  const read = () => limit({ reader: "eve", ...call }, () => Promise.reject(new Error("gone")));

  await Promise.allSettled(Array.from({ length: 100 }, read));
  const next = await read().catch(({ code }) => code);

  expect(next).toBe("too_many_calls");
  await vi.waitFor(() => expect(read()).rejects.toThrow("gone"), 2_000);
});
