/** An operator whom a fleet leaves out says nothing of its sentinels, and nobody gets a call by a key that is empty. */
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import type { FleetOperators } from "#fleet/contract.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";

const operators = { ada: ["operate"], ben: ["operate"], gw: ["notify"] } as const;
const fleets: FleetOperators[] = [
  { name: "singleton" },
  { name: "prod", operators: ["ben"] },
  { name: "prod-eu", operators: ["ada"] },
];

const push = (id: string) => `/vedette.v1.SentinelService/${id}/NotifyReady`;

async function post(url: string, as: string, headers: Record<string, string> = {}) {
  const own = { authorization: `Bearer ${as}`, "content-type": "application/json" };
  // By Node itself: fetch sends no empty header.
  return new Promise<number>((resolve, reject) => {
    const sent = request(url, { method: "POST", headers: { ...own, ...headers } }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.once("error", reject).end(JSON.stringify({ image: "a.example/b:1" }));
  });
}

const placesOf = (bench: Awaited<ReturnType<typeof startAccessBench>>) => [
  bench.control,
  bench.ingress,
  `${bench.admin}/ingress`,
];

describe("a push for a sentinel", () => {
  it.each([
    ["prod:gw-1", "of-ada", 403],
    ["prod%3Agw-1", "of-ada", 403],
    ["%70rod%3agw-1", "of-ada", 403],
    ["prod:edge%2Fgw", "of-ada", 403],
    ["prod-eu:gw-1", "of-ben", 403],
    ["prod:gw-1", "of-ben", 200],
    ["prod-eu:gw-1", "of-ada", 200],
    ["gw-1", "of-ada", 200],
    ["product:gw-1", "of-ada", 200],
    ["prod:gw-1", "of-gw", 200],
    ["prod:gw-1", "shared", 200],
  ])("%s by %s is answered %d at each address", async (id, as, status) => {
    const bench = await startAccessBench({ operators, fleets });

    const statuses: number[] = [];
    for (const place of placesOf(bench)) statuses.push(await post(`${place}${push(id)}`, as));

    expect(statuses).toEqual([status, status, status]);
    expect(bench.reached).toHaveLength(status === 200 ? 3 : 0);
  });

  it("of the default fleet is refused to those whom that leaves out", async () => {
    const closed = [{ name: "singleton", operators: ["ben"] }, { name: "prod" }];
    const bench = await startAccessBench({ operators, fleets: closed });

    expect(await post(`${bench.control}${push("gw-1")}`, "of-ada")).toBe(403);
    expect(await post(`${bench.control}${push("prod:gw-1")}`, "of-ada")).toBe(200);
  });
});

it.each(["", " ", "\t"])("an idempotency key of %j is none, at each address", async (key) => {
  const bench = await startAccessBench({ operators });
  const cancel = "/vedette.v1.SentinelRolloutService/singleton/Pause";

  for (const place of placesOf(bench).slice(1))
    await post(`${place}${cancel}`, "of-ada", { "idempotency-key": key });

  const names = bench.reached.map(({ rawHeaders }) => rawHeaders.filter((_, at) => at % 2 === 0));
  expect(names).toHaveLength(2);
  expect(names.flat().map((name) => name.toLowerCase())).not.toContain("idempotency-key");
});
