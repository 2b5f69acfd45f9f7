/** Calls that have started at Restate's guarded addresses when the program stops. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createAdminFront } from "#control/front/front.ts";
import { createIdentify } from "#control/token.ts";
import { createLog } from "#kernel/log.ts";
import { waitFor } from "../../support/wait-for.ts";

const rollout = "/vedette.v1.SentinelRolloutService/singleton";

/** A front of a Restate that answers when the test says so. */
async function startFront() {
  const waiting: ServerResponse[] = [];
  const restate = createServer((request, response) => {
    request.resume();
    waiting.push(response);
  });
  const restateUrl = await listen(restate);
  const front = createAdminFront({
    ingressUrl: restateUrl,
    adminUrl: restateUrl,
    identify: createIdentify({ ingressToken: "t" }),
    actorKey: new Uint8Array(32),
    log: createLog({ level: "silent", format: "json" }),
  });
  const url = await listen(front.server);
  onTestFinished(() => {
    restate.closeAllConnections();
    restate.close();
  });
  const begin = async (handler: string) => {
    const answered = fetch(`${url}/ingress${rollout}/${handler}`, {
      method: "POST",
      headers: { authorization: "Bearer t", "content-type": "application/json" },
      body: "{}",
    }).then(
      (answer) => answer.json(),
      () => "cut off" as const,
    );
    await waitFor(() => waiting.length > 0, { withinMs: 10_000, what: "the call to arrive" });
    return { answered };
  };
  return { front, begin, answer: () => waiting[0]?.end(JSON.stringify({ said: true })) };
}

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("answers a Status that has started when it closes", async () => {
  const { front, begin, answer } = await startFront();
  const { answered } = await begin("Status");

  const closed = front.close();
  answer();

  expect(await answered).toEqual({ said: true });
  await closed;
});

it("does not wait for a Rollout, which may take hours", async () => {
  const { front, begin } = await startFront();
  const { answered } = await begin("Rollout");

  await front.close();

  expect(await answered).toBe("cut off");
});
