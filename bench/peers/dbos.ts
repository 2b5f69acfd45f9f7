/** A rollout with DBOS, in three ways; bench/peers.ts says what each guarantees. */
import { DBOS } from "@dbos-inc/dbos-sdk";
import pLimit from "p-limit";
import type { StartEngines } from "../engine.ts";
import { maxParallel } from "../fixture.ts";

const queueName = "deploys";

export const startDbos: StartEngines = async ({ servers, listIds, deploy }) => {
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: servers.databaseUrl,
    // Twice the default, so that with 100 in flight the pool is not the bottleneck.
    systemDatabasePoolSize: 20,
    logLevel: "error",
  });
  const deployOne = DBOS.registerWorkflow(
    (id: string, image: string) => DBOS.runStep(() => deploy(id, image), { name: "deploy" }),
    { name: "deployOne" },
  );
  const fanOut = (name: string, each: (id: string, image: string) => Promise<unknown>) =>
    DBOS.registerWorkflow(
      async (ids: string[], image: string) => {
        const limit = pLimit(maxParallel);
        await Promise.all(ids.map((id) => limit(() => each(id, image))));
      },
      { name },
    );
  const stepEach = fanOut("stepEach", (id, image) =>
    DBOS.runStep(() => deploy(id, image), { name: id }),
  );
  const workflowEach = fanOut("workflowEach", deployOne);
  const queued = DBOS.registerWorkflow(
    async (ids: string[], image: string) => {
      const limit = pLimit(maxParallel);
      const enqueue = (id: string) => DBOS.startWorkflow(deployOne, { queueName })(id, image);
      const handles = await Promise.all(ids.map((id) => limit(() => enqueue(id))));
      await Promise.all(handles.map((handle) => limit(() => handle.getResult())));
    },
    { name: "queued" },
  );
  await DBOS.launch();
  servers.defer(() => DBOS.shutdown());
  await DBOS.registerQueue(queueName, {
    workerConcurrency: maxParallel,
    // The default is 1,000, with which it starts at most 100 deploys a second.
    minPollingIntervalMs: 20,
    onConflict: "always_update",
  });
  return [
    { name: "DBOS, a queue", run: async (image) => queued(await listIds(), image) },
    { name: "DBOS, a workflow each", run: async (image) => workflowEach(await listIds(), image) },
    { name: "DBOS, a step each", run: async (image) => stepEach(await listIds(), image) },
  ];
};
