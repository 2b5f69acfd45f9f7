/** A whole installation as in production: what is killed, replaced and gone back, while it rolls out and answers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { copyEdited, type Edit, ownTree } from "../../support/program/edited-tree.ts";
import { type Replica, type Role, startReplica } from "../../support/program/replicas.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import { type Balancer, startBalancer } from "../../support/servers/balancer.ts";
import { startPgbouncer } from "../../support/servers/pgbouncer.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { startRestateCluster } from "../../support/servers/restate-cluster.ts";
import { queryRestate } from "../../support/servers/restate-query.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const size = 120;
const parallel = 3;
const ingressToken = "an-ingress-token-of-the-whole-installation";
const rootKey = `vedette_root_${"a1B2".repeat(8)}`;
const image = "registry.example.com/vedette/sentinel:v2";
const roles = ["api", "control", "worker"] as const;

/** A deploy that is under way at the earlier version does not fit this one. */
const changedStep: Edit = {
  file: "fleet/deploys/service.ts",
  from: 'ctx.run("observe"',
  to: 'ctx.run("look"',
};

const followed = `SELECT DISTINCT i.id
  FROM sys_invocation i JOIN sys_journal j ON j.id = i.id
  WHERE i.target_handler_name = 'Deploy' AND i.status <> 'completed' AND j.name IN ('observe', 'look')`;

/** The workers of one version, and the address that Restate knows them by. */
type Version = { tree: string; address: Balancer };

describe.skipIf(!hasPrograms("pgbouncer")).each(["one address", "an address per version"] as const)(
  "three Restate servers and two of each role, the workers at %s",
  { retry: 0 },
  (addresses) => {
    const dir = makeTempDir();
    const behavior = { readyAfterMs: Number.POSITIVE_INFINITY };
    const stops: (() => Promise<unknown>)[] = [() => Promise.resolve(dir.remove())];
    const running: Record<Role, Replica[]> = { api: [], control: [], worker: [] };
    let fleet: FakeFleet;
    let restate: Awaited<ReturnType<typeof startRestateCluster>>;
    let database: Awaited<ReturnType<typeof createTestDatabase>>;
    let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
    let fronts: Record<"api" | "control", Balancer>;
    let first: Version;
    let second: Version;
    let load: Awaited<ReturnType<typeof startLoad>>;

    const keep = <T extends { stop: () => Promise<unknown> }>(started: T): T => {
      stops.push(started.stop);
      return started;
    };

    beforeAll(async () => {
      fleet = keep(await startFakeFleet({ size, behave: () => behavior }));
      database = keep(await createTestDatabase({ isEmpty: true, isKilled: true }));
      restate = keep(await startRestateCluster());
      pooler = keep(await startPgbouncer(database.url));
      fronts = { api: keep(await startBalancer()), control: keep(await startBalancer()) };
      first = { tree: ownTree, address: keep(await startBalancer()) };
      const address = addresses === "one address" ? first.address : keep(await startBalancer());
      second = { tree: copyEdited(dir.path, [changedStep]), address };
      stops.push(() =>
        Promise.all(roles.flatMap((role) => running[role]).map((one) => one.stop())),
      );
      await replaceBy(first);
      load = keep(await startLoad(fronts.api.url));
    }, 300_000);

    afterAll(async () => {
      for (const stop of stops.reverse()) await stop();
    }, 120_000);

    const start = (role: Role, { tree, address }: Version, port: number) =>
      startReplica(
        { tree, role, port },
        {
          DATABASE_URL: pooler.url,
          VEDETTE_DATABASE__DIRECT_URL: database.url,
          VEDETTE_RESTATE__INGRESS_URL: restate.ingressUrl,
          VEDETTE_RESTATE__ADMIN_URL: restate.adminUrl,
          VEDETTE_WORKER__ADVERTISED_URL: address.url,
          VEDETTE_ANALYTICS__ENABLED: "false",
          VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
          VEDETTE_ROLLOUT__MAX_PARALLEL: String(parallel),
          INGRESS_TOKEN: ingressToken,
          VEDETTE_ROOT_KEY: rootKey,
          ...fleet.environment(),
        },
      );

    /** Of the api and control the later version takes over before the earlier one leaves. */
    const replaceFront = async (role: "api" | "control", version: Version) => {
      const earlier = running[role];
      running[role] = [
        await start(role, version, await freePort()),
        await start(role, version, await freePort()),
      ];
      fronts[role].pointTo(running[role].map(({ port }) => port));
      await Promise.all(earlier.map((one) => one.stop()));
    };

    /** At one address the earlier workers leave first; else their address leads to the later ones when they have left. */
    const replaceWorkers = async (version: Version) => {
      const earlier = running.worker;
      const leave = () => Promise.all(earlier.map((one) => one.stop()));
      if (addresses === "one address") await leave();
      running.worker = await startWorkers(version);
      await leave();
      for (const { address } of [first, second])
        address.pointTo(running.worker.map(({ port }) => port));
    };

    /** Restate calls a worker's address before the worker is ready. */
    const startWorkers = async (version: Version): Promise<Replica[]> => {
      const ports = [await freePort(), await freePort()];
      version.address.pointTo(ports);
      return Promise.all(ports.map((port) => start("worker", version, port)));
    };

    const replaceBy = async (version: Version) => {
      await replaceWorkers(version);
      await replaceFront("control", version);
      await replaceFront("api", version);
    };

    const call = async (handler: string, body: object = {}) => {
      const answer = await fetch(
        `${fronts.control.url}/vedette.v1.SentinelRolloutService/singleton/${handler}`,
        {
          method: "POST",
          headers: { authorization: `Bearer ${ingressToken}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        },
      );
      return (await answer.json()) as Record<string, unknown>;
    };

    const untilStatus = (wanted: Record<string, unknown>) =>
      waitFor(
        async () => {
          const status = await call("Status");
          return Object.entries(wanted).every(([name, value]) => status[name] === value) && status;
        },
        { withinMs: 20_000, what: `a rollout with ${JSON.stringify(wanted)}` },
      );

    const updated = () => [...fleet.running().values()].filter((one) => one === image).length;

    const free = () => {
      behavior.readyAfterMs = 0;
    };

    /** What is in flight stays so, also what the fleet has taken already. */
    const hold = () => {
      behavior.readyAfterMs = Number.POSITIVE_INFINITY;
    };

    const untilFurther = async () => {
      const before = updated();
      free();
      await waitFor(() => updated() > before, { withinMs: 30_000, what: `more than ${before}` });
      hold();
    };

    /** Each deploy in flight has an invocation of its own then, which a batch gives it later on. */
    const untilFollowed = () =>
      waitFor(async () => (await queryRestate(restate.adminUrl, followed)).length === parallel, {
        withinMs: 20_000,
        what: "deploys with an invocation of their own",
      });

    /** The deploys in flight cannot go on, and Resume takes over what was ordered. */
    const replaceMeanwhile = async (version: Version) => {
      await untilStatus({ in_flight: parallel });
      await untilFollowed();
      await replaceBy(version);
      expect(await untilStatus({ state: "paused" })).toMatchObject({ cause: "version", failed: 0 });
      await call("Resume/send");
      await untilFurther();
    };

    it("deploys each sentinel once, and refuses no call of the API", {
      timeout: 900_000,
    }, async () => {
      await call("Rollout/send", { image, wave_percentages: [10, 50, 100] });
      // Once is enough: it has nothing to do with addresses.
      const kills =
        addresses === "one address"
          ? []
          : [
              ...restate.names.map((name) => () => restate.killAndRestart(name)),
              ...roles.flatMap((role) => running[role]).map((one) => one.killAndRestart),
              pooler.killAndRestart,
              () => database.kill9().then(database.restart),
            ];
      for (const kill of kills) {
        await untilFurther();
        await kill();
      }
      await untilFurther();
      await replaceMeanwhile(second);
      await replaceMeanwhile(first);
      free();

      const status = await untilStatus({ state: "completed" });

      expect(status).toMatchObject({ total: size, succeeded: size, failed: 0, in_flight: 0 });
      expect(updated()).toBe(size);
      // An order that is repeated is the same deploy.
      expect(new Set(fleet.puts.map(({ deployId }) => deployId)).size).toBe(size);
      expect(load.faults).toEqual([]);
      expect(load.calls()).toBeGreaterThan(200);
    });
  },
);

/** Verifies a key again and again. A call whose connection breaks is made anew, as clients do: there are two connections. */
async function startLoad(url: string) {
  const post = async (procedure: string, body: object) => {
    const answer = await fetch(`${url}/v2/${procedure}`, {
      method: "POST",
      headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return {
      status: answer.status,
      body: (await answer.json()) as { data: { [name: string]: string } },
    };
  };
  const { data: api } = (await post("apis.createApi", { name: "load" })).body;
  const { data: created } = (await post("keys.createKey", { apiId: api["apiId"] })).body;
  const verify = () => post("keys.verifyKey", { key: created["key"] });
  const faults: unknown[] = [];
  let calls = 0;
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      const answer = await verify()
        .catch(verify)
        .catch(verify)
        .catch((error: Error) => ({ status: 0, body: `${error.message}: ${error.cause}` }));
      calls += 1;
      if (answer.status !== 200) faults.push({ at: new Date().toISOString(), ...answer });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const runs = Promise.all([run(), run()]);
  return {
    faults,
    calls: () => calls,
    stop: async () => {
      isOver = true;
      await runs;
    },
  };
}
