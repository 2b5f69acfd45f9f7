import { expect, it } from "vitest";
import { listJobs, pruneRoute } from "#routing/incident/apply.ts";
import type { OwnedRoute, Plan } from "#routing/incident/contract.ts";
import { createService } from "#routing/incident/service.ts";
import { retryLimits } from "#routing/incident/steps.ts";
import { createIncidentDouble } from "../../support/routing/incident-double.ts";
import { aForeignRoute, edited } from "../../support/routing/route-histories.ts";

function anOrphan() {
  const double = createIncidentDouble();
  const { id } = double.add(aForeignRoute("Old"));
  const owned: OwnedRoute = { id, declared: { name: "Old" }, disabled_digest: null };
  const tools = {
    steps: {
      run: <T>(_name: string, action: () => Promise<T>) => action(),
      sleep: async () => {},
    },
    retryLimits: retryLimits.worker,
    listLagMs: 0,
    intend: async () => {},
    service: createService(double.send),
  };
  return { double, id, prune: (known = owned) => pruneRoute({ name: "Old", owned: known }, tools) };
}

it("disables a route first, and deletes it the next time", async () => {
  const { double, prune } = anOrphan();

  const first = await prune();
  const second = await prune(first.owned ?? undefined);

  expect([first.result.outcome, second.result.outcome]).toEqual(["disabled", "deleted"]);
  expect(double.writes).toEqual(["PUT Old", "DELETE Old"]);
  expect(second.owned).toBeNull();
});

it("pruning keeps a route that someone has changed since it was disabled", async () => {
  const { double, id, prune } = anOrphan();
  const { owned } = await prune();
  double.edit(id, (content) => edited(content, "note"));

  const { result } = await prune(owned ?? undefined);

  expect(result.outcome).toBe("conflict");
  expect(double.routes.size).toBe(1);
});

it.each(["lost_after", "lost_before", "error_after", "wait_seconds", "busy"] as const)(
  "deletes once although a request comes to %s",
  async (fault) => {
    const { double, prune } = anOrphan();
    const { owned } = await prune();
    let isFirst = true;
    double.behave = ({ method }) => {
      if (method === "GET" || !isFirst) return undefined;
      isFirst = false;
      return fault;
    };

    const { result } = await prune(owned ?? undefined);

    expect(result.outcome).toBe("deleted");
    expect(double.writes).toEqual(["PUT Old", "DELETE Old"]);
  },
);

it("pruning accepts a route that is gone already", async () => {
  const { double, id, prune } = anOrphan();
  double.routes.delete(id);

  expect((await prune()).result.outcome).toBe("deleted");
});

it("prunes what the plan has shown, and nothing that became ours since", () => {
  const plan: Plan = {
    ...{ format: "vedette-alert-plan-1", incident_url: "http://incident.example" },
    ...{ made_at: "2026-01-01T00:00:00Z", of: "routes", routes: [], doubled: [], names: {} },
    orphans: ["Old", "Deleted since"],
  };
  const owned = { Old: ownedAs("Old"), New: ownedAs("New") };

  const jobs = listJobs({ request: { plan, adopt: false, prune: true }, owned });

  expect(jobs.map(({ name }) => name)).toEqual(["Old"]);
});

function ownedAs(name: string): OwnedRoute {
  return { id: `route-${name}`, declared: { name }, disabled_digest: null };
}
