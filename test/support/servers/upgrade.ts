/** A worker that is replaced by one with other code, at the same address: as an upgrade does it. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { postSigned } from "../signed-call.ts";
import { waitFor } from "../wait-for.ts";
import { queryRestate } from "./restate-query.ts";
import { startTestRestate } from "./servers.ts";

type Services = EndpointOptions["services"];

/** Everything is stopped when the test that asks for it ends. */
export async function startUpgradable(earlier: Services) {
  const restate = await startTestRestate({ services: [] });
  onTestFinished(restate.stop);
  const { adminUrl, ingressUrl } = restate;
  const logLines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => logLines.push(line) });
  const serve = async (port: number, services: Services, revision: string) => {
    const settings = { host: "127.0.0.1", port, services, identityKeys: [], log };
    const endpoint = await serveEndpoint(settings);
    await registerWorker({ adminUrl, workerUrl: endpoint.url, revision });
    return endpoint;
  };
  let worker = await serve(0, earlier, "earlier");
  onTestFinished(() => worker.stop());
  return {
    /** What the workers have logged, a JSON text each. */
    logLines,
    /** `by`: the name that the gateway signed. */
    call: async (path: string, body: object, by: string) => {
      const answer = await postSigned(`${ingressUrl}/${path}`, body, by);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
    /** Until an invocation waits for the end of another one, by its journal. */
    untilAttached: () =>
      waitFor(async () => (await attachments(adminUrl)) > 0, {
        withinMs: 20_000,
        what: "an invocation that waits for another",
      }),
    upgrade: async (services: Services) => {
      const port = Number(new URL(worker.url).port);
      await worker.stop();
      worker = await serve(port, services, "later");
    },
  };
}

async function attachments(adminUrl: string): Promise<number> {
  const query = "SELECT id FROM sys_journal WHERE entry_type = 'Command: AttachInvocation'";
  return (await queryRestate(adminUrl, query)).length;
}
