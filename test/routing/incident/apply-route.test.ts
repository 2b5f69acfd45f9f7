import { expect, it } from "vitest";
import { applyRoute } from "#routing/incident/apply-route.ts";
import { digestOf, toContent } from "#routing/incident/content.ts";
import type { Content, RoutePlan } from "#routing/incident/contract.ts";
import { createService } from "#routing/incident/service.ts";
import { retryLimits } from "#routing/incident/steps.ts";
import type { Send } from "#routing/incident/transport.ts";
import { createIncidentDouble } from "../../support/routing/incident-double.ts";
import { aForeignRoute } from "../../support/routing/route-histories.ts";

const declared = { name: "A", enabled: true, is_private: false };

function aPlan(over: Partial<RoutePlan> = {}): RoutePlan {
  return { name: "A", action: "create", id: null, base: null, declared, changes: [], ...over };
}

function apply(route: RoutePlan, send: Send) {
  const slept: number[] = [];
  const tools = {
    steps: {
      run: <T>(_name: string, action: () => Promise<T>) => action(),
      sleep: async (ms: number) => void slept.push(ms),
    },
    retryLimits: retryLimits.worker,
    service: createService(send),
    listLagMs: 0,
    intend: async () => {},
  };
  const order = { route, owned: null, adopt: true, of: "routes" as const, others: [], open: null };
  return applyRoute(order, tools).then((applied) => ({ ...applied, slept }));
}

/** The double with `over` as the first route's answer to writes. */
function keepingElse(over: Content) {
  const double = createIncidentDouble();
  const send: Send = async (call) => {
    const answer = await double.send(call);
    const { alert_route: route } = (answer.body ?? {}) as { alert_route?: Content };
    if (call.method === "GET" || route === undefined) return answer;
    return { ...answer, body: { alert_route: { ...route, ...over } } };
  };
  return { double, send };
}

const whole = aForeignRoute("A");
const plan = aPlan({ declared: { ...whole, enabled: true } });

it("the apply reports the fields that the service stored differently", async () => {
  const { send } = keepingElse({ enabled: false });

  const { result, owned } = await apply(plan, send);

  expect(result).toMatchObject({ outcome: "failed" });
  expect(result.message).toBe(
    "it was written, but the incident service stored something else at enabled",
  );
  expect(owned?.id).toBe(result.id);
});

it("the apply waits as long as the service asks, before it writes again", async () => {
  const double = createIncidentDouble();
  let refusals = 2;
  double.behave = ({ method }) =>
    method === "POST" && refusals-- > 0 ? "wait_seconds" : undefined;

  const { result, slept } = await apply(plan, double.send);

  expect(result.outcome).toBe("created");
  expect(slept).toEqual([2_000, 2_000]);
});

it("the apply takes a refusal for final when the version has not changed", async () => {
  const double = createIncidentDouble();
  const { id, content } = double.add({ ...whole, enabled: false });
  const send: Send = async (call) =>
    call.method === "PUT"
      ? { status: 422, retryAfter: undefined, body: { errors: [{ message: "no such source" }] } }
      : double.send(call);
  const base = { version: 1, digest: digestOf(toContent(content)), content };

  const { result } = await apply({ ...plan, action: "update", id, base }, send);

  expect(result.outcome).toBe("failed");
  expect(result.message).toContain("422 (no such source)");
});

it("continues when only the version has changed", async () => {
  const double = createIncidentDouble({ conflictStatus: 422 });
  const { id, content } = double.add({ ...whole, enabled: false });
  const base = { version: 1, digest: digestOf(content), content };
  let isFirst = true;
  double.behave = ({ method }) => {
    if (method === "PUT" && isFirst) double.edit(id, (same) => same);
    if (method === "PUT") isFirst = false;
    return undefined;
  };

  const { result } = await apply({ ...plan, action: "update", id, base }, double.send);

  expect(result.outcome).toBe("updated");
  expect(double.routes.get(id)).toMatchObject({ version: 3, content: { enabled: true } });
});

it("the apply never guesses which of two routes of its name is meant", async () => {
  const double = createIncidentDouble();
  double.add(whole);
  double.add(whole);

  const { result } = await apply(plan, double.send);

  expect(result.message).toBe("there are 2 routes of this name: 01ROUTE1, 01ROUTE2; keep one");
  expect(double.writes).toEqual([]);
});

/** A route of its own in the double, planned to be enabled, and the answers to one method about another route. */
function answeringAnother(method: "GET" | "PUT") {
  const double = createIncidentDouble();
  const { id, content } = double.add({ ...whole, enabled: false });
  const other = double.add({ ...whole, name: "B" });
  const send: Send = async (call) => {
    const answer = await double.send(call);
    if (call.method !== method || !call.path.endsWith(id)) return answer;
    const { body } = await double.send({ method: "GET", path: `/v2/alert_routes/${other.id}` });
    return { ...answer, body };
  };
  const base = { version: 1, digest: digestOf(toContent(content)), content: toContent(content) };
  return { double, id, other, send, route: aPlan({ ...plan, action: "update", id, base }) };
}

it("believes no detail that is another route's", async () => {
  const { double, id, send, route } = answeringAnother("GET");

  const { result } = await apply(route, send);

  expect(result).toMatchObject({ outcome: "failed", id });
  expect(result.message).toBe(`asked for route ${id}, the incident service returned another one`);
  expect(double.writes).toEqual([]);
});

it("the apply reads again when a write is answered with another route", async () => {
  const { double, id, send, route } = answeringAnother("PUT");

  const { result, owned } = await apply(route, send);

  expect(result).toMatchObject({ outcome: "updated", id });
  expect(owned?.id).toBe(id);
  expect(double.writes).toHaveLength(1);
});
