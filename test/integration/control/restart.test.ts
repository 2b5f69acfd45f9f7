/** A blocked call through the gateway, with a real Restate that is killed under it. */
import { handlers, type ObjectSharedContext, object } from "@restatedev/restate-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createControl } from "#control/control.ts";
import { createLog } from "#kernel/log.ts";
import { rolloutServiceName } from "#rollout/contract.ts";
import { startTestRestate, type TestRestate } from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

let restate: TestRestate;
/** A killed invocation is run again: what counts is how many there are. */
const invocations = new Set<string>();
const finish = Promise.withResolvers<void>();

/** Answers when the test says so, whichever attempt is running then. */
const rollout = object({
  name: rolloutServiceName,
  handlers: {
    Rollout: handlers.object.shared(async (ctx: ObjectSharedContext) => {
      invocations.add(ctx.request().id.toString());
      await ctx.run("wait", () => finish.promise);
      return { state: "completed" };
    }),
  },
});

beforeAll(async () => {
  restate = await startTestRestate({ services: [rollout] });
});

afterAll(() => restate?.stop());

it("answers a blocked Rollout over a kill -9 and a restart of Restate, and makes it once", async () => {
  const log = createLog({ level: "silent", format: "json" });
  const control = createControl({ ingressUrl: restate.ingressUrl, ingressToken: "t", log });
  const call = control.inject({
    method: "POST",
    url: `/${rolloutServiceName}/singleton/Rollout`,
    headers: { authorization: "Bearer t" },
    payload: { image: "registry.example.com/a:v1" },
  });
  const answered = Promise.resolve(call);
  await waitFor(() => invocations.size === 1, { withinMs: 10_000, what: "the call to arrive" });

  await restate.kill9();
  await restate.restart();
  finish.resolve();

  const answer = await answered;
  await control.close();
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({ state: "completed" });
  expect(invocations.size).toBe(1);
});
