/** Changes of containers on one host. Each is repeated safely: an engine has at most one container of a name. */
import { type DriverCall, UnreachableError } from "#fleet/drivers/driver.ts";
import { type Engine, type EngineAnswer, type EngineRequest, messageOf } from "./engine.ts";
import type { Step } from "./plan.ts";

/** `again`: it is not as it was, so look again; `refused`: the engine cannot do it. `words`: the engine's. */
export type Outcome = { result: "done" } | { result: "again" | "refused"; words: string };

/** The result of a creation: `taken`, when the name is another container's, or the engine's words. */
export type Creation = "created" | "taken" | { refused: string };

/** A step that changes something. */
export type Change = Exclude<Step, { do: "wait" | "nothing" }>;

const changeLimitMs = 120_000;
/** A container may be given minutes to end. */
const stopLimitMs = 330_000;

export async function createContainer(
  engine: Engine,
  { name, body, isWanted }: { name: string; body: object; isWanted: DriverCall["isWanted"] },
): Promise<Creation> {
  const query = { name };
  const answer = await post(engine, { path: "/containers/create", query, body, isWanted });
  if (answer.status < 300) return "created";
  const words = messageOf(answer.body);
  if (answer.status === 409 || /already in use/i.test(words)) return "taken";
  if (answer.status === 400) return { refused: words };
  throw new UnreachableError(`unreachable: creating ${name}: ${answer.status} ${words}`);
}

export async function carryOut(engine: Engine, change: Change): Promise<Outcome> {
  const answer = await send(engine, change);
  if (answer.status < 300 || answer.status === 304) return { result: "done" };
  const words = messageOf(answer.body);
  const isFinal = answer.status < 500 && ![404, 409].includes(answer.status);
  if (change.do === "start" && isFinal) return { result: "refused", words };
  // A repetition may be refused: it is gone, has the name already, is connected already. And an engine that cannot do
  // it now, as while it stops, can do it later.
  return { result: "again", words };
}

function send(engine: Engine, change: Change): Promise<EngineAnswer> {
  const path = `/containers/${encodeURIComponent(change.id)}`;
  switch (change.do) {
    case "start":
      return post(engine, { path: `${path}/start` });
    case "stop":
      return post(engine, { path: `${path}/stop`, limitMs: stopLimitMs });
    case "remove":
      return engine.call({ method: "DELETE", path, limitMs: changeLimitMs });
    case "rename":
      return post(engine, { path: `${path}/rename`, query: { name: change.name } });
    case "restart-policy":
      return post(engine, { path: `${path}/update`, body: { RestartPolicy: change.policy } });
    case "connect":
      return post(engine, {
        path: `/networks/${encodeURIComponent(change.network)}/connect`,
        body: { Container: change.id, EndpointConfig: change.endpoint },
      });
  }
}

type Post = Omit<EngineRequest, "method">;

function post(engine: Engine, asked: Post): Promise<EngineAnswer> {
  return engine.call({ method: "POST", limitMs: changeLimitMs, ...asked });
}
