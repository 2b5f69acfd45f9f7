/** Changes of containers on one host. Each is repeated safely: an engine has at most one container of a name. */
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { type Engine, type EngineAnswer, messageOf } from "./engine.ts";
import type { Step } from "./plan.ts";

/** `again`: it is not as it was, so look again; `refused`: the engine cannot do it. `words`: the engine's. */
export type Outcome = { result: "done" } | { result: "again" | "refused"; words: string };

/** What was created, or why not: `taken`, when the name is another container's, or the engine's words. */
export type Creation = "created" | "taken" | { refused: string };

/** A step that changes something. */
export type Change = Exclude<Step, { do: "wait" | "nothing" }>;

const changeLimitMs = 120_000;
/** A container may be given minutes to end. */
const stopLimitMs = 330_000;

export async function createContainer(
  engine: Engine,
  name: string,
  body: object,
): Promise<Creation> {
  const answer = await post(engine, { path: "/containers/create", query: { name }, body });
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
  if (change.do === "start") return { result: "refused", words };
  // Of all others a repetition may be refused: it is gone, has the name already, or is connected already.
  if (answer.status < 500) return { result: "again", words };
  throw new UnreachableError(`unreachable: ${change.do} of a container: ${answer.status} ${words}`);
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

type Post = { path: string; query?: Record<string, string>; body?: object; limitMs?: number };

function post(engine: Engine, asked: Post): Promise<EngineAnswer> {
  return engine.call({ method: "POST", limitMs: changeLimitMs, ...asked });
}
