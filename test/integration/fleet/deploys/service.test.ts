/** SentinelService on a real Restate and Postgres, over the fake fleet's http protocol. */
import { type Context, service } from "@restatedev/restate-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type DeployRequest, type DeployResult, sentinelService } from "#fleet/deploys/contract.ts";
import { createDeployer } from "#fleet/deploys/deployer.ts";
import { createSentinelService } from "#fleet/deploys/service.ts";
import { createStartDeploys } from "#fleet/deploys/start.ts";
import { boundDriver } from "#fleet/drivers/bounded.ts";
import { createHttpDriver } from "#fleet/drivers/http.ts";
import { createFleetService } from "#fleet/fleet-service.ts";
import { createLogBudget } from "#fleet/logs/budget.ts";
import { createReadLog } from "#fleet/logs/read.ts";
import { createLogStore, createSaveLog } from "#fleet/logs/store.ts";
import { createFleetStore } from "#fleet/store.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { neverAsked } from "../../../support/never-asked.ts";
import { deploying } from "../../../support/rollout/deploying.ts";
import { type FakeFleet, startFakeFleet } from "../../../support/rollout/fake-fleet.ts";
import { createTestListing } from "../../../support/rollout/fleet-listing.ts";
import { createTestDatabase } from "../../../support/run/shared-postgres.ts";
import {
  startTestRestate,
  type TestDatabase,
  type TestRestate,
} from "../../../support/servers/servers.ts";
import { postSigned, readActor } from "../../../support/signed-call.ts";
import { waitFor } from "../../../support/wait-for.ts";

const v2 = "registry.example.com/vedette/sentinel:v2";
const v3 = "registry.example.com/vedette/sentinel:v3";
const log = createLog({ level: "silent", format: "json" });

/** Deploy is private: only services call it. */
const caller = service({
  name: "Caller",
  handlers: {
    deploy: (
      ctx: Context,
      { id, ...request }: { id: string } & DeployRequest,
    ): Promise<DeployResult> => ctx.client(sentinelService, id).Deploy(request),
  },
});

let fleet: FakeFleet;
let server: TestDatabase;
let database: Database;
let fleets: ReturnType<typeof deploying>;
let restate: TestRestate;
let next = 0;
let id = "";

beforeAll(async () => {
  fleet = await startFakeFleet({
    size: 30,
    readLog: (_, deployId) => (deployId === null ? "serving\n" : "no database: token=s3cret\n"),
  });
  server = await createTestDatabase();
  database = openDatabase(server.url, log);
  const store = createFleetStore(database);
  const driver = boundDriver(createHttpDriver({ url: fleet.url, token: fleet.token }), log);
  const logs = createLogStore(database);
  const keepLog = createSaveLog({
    driver,
    store: logs,
    budget: createLogBudget(),
    lines: 100,
    log,
  });
  const listing = createTestListing(database, driver);
  await listing.list();
  fleets = deploying(createDeployer(driver, store, keepLog), 4_000);
  restate = await startTestRestate({
    services: [
      createSentinelService({ fleets, store }),
      createFleetService({
        store,
        listings: new Map([["singleton", listing]]),
        readDrift: neverAsked(),
        readLog: createReadLog({
          store: logs,
          fleets: new Map([["singleton", { name: "singleton", driver, lines: 100 }]]),
        }),
        readActor,
        requireOperator: () => {},
      }),
      caller,
    ],
  });
});

afterAll(async () => {
  await restate.stop();
  await database.end();
  await server.stop();
  await fleet.stop();
});

beforeEach(() => {
  id = `gw-${String(++next).padStart(4, "0")}`;
  fleet.behave(() => ({ readyAfterMs: 0 }));
});

const post = async (path: string, body: unknown, by?: string) => {
  const answer = await postSigned(`${restate.ingressUrl}/${path}`, body, by);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};

const deploy = async (image: string) => (await post("Caller/deploy", { id, image })).body;

const notify = async (image: string) =>
  (await post(`vedette.v1.SentinelService/${id}/NotifyReady`, { image })).body;

const row = async () => {
  const { rows } = await database.query("SELECT * FROM sentinels WHERE id = $1", [id]);
  return rows[0] as Record<string, unknown>;
};

const untilOrdered = (image: string) =>
  waitFor(() => fleet.puts.some((put) => put.id === id && put.image === image), {
    withinMs: 5_000,
    what: "the order to reach the fleet",
  });

describe("Deploy", () => {
  it("answers ready and writes down what runs and what ran", async () => {
    const result = await deploy(v2);

    expect(result).toEqual({ status: "ready" });
    expect(await row()).toMatchObject({
      image: v2,
      running_image: v2,
      previous_image: "registry.example.com/vedette/sentinel:v1",
      deploy_status: "ready",
      deploy_reason: null,
      health: "healthy",
    });
  });

  it("is progressing while the fleet is at it", async () => {
    fleet.behave(() => "hang");
    const deployed = deploy(v2);
    await untilOrdered(v2);

    const during = await row();

    await notify(v2);
    expect(during).toMatchObject({ image: v2, deploy_status: "progressing" });
    expect(await deployed).toEqual({ status: "ready" });
  });

  it("fails with the fleet's reason", async () => {
    fleet.behave(() => ({ failAfterMs: 0, reason: "oom_killed: 128 MiB" }));

    const result = await deploy(v2);

    expect(result).toEqual({ status: "failed", reason: "oom_killed: 128 MiB" });
    expect(await row()).toMatchObject({
      image: v2,
      running_image: "registry.example.com/vedette/sentinel:v1",
      deploy_status: "failed",
      deploy_reason: "oom_killed: 128 MiB",
    });
  });

  it("fails at its deadline when the sentinel never becomes ready", async () => {
    fleet.behave(() => "hang");

    const result = await deploy(v2);

    expect(result["status"]).toBe("failed");
    expect(result["reason"]).toMatch(/^progress_deadline: /);
  });

  it("orders a deploy once, however often it polls", async () => {
    fleet.behave(() => ({ readyAfterMs: 700 }));

    await deploy(v2);

    expect(fleet.puts.filter((put) => put.id === id)).toHaveLength(1);
  });

  it("cannot be called from outside", async () => {
    const { status } = await post(`vedette.v1.SentinelService/${id}/Deploy`, { image: v2 });

    expect(status).toBe(400);
  });
});

describe("NotifyReady", () => {
  it("ends a deploy of the same image at once", async () => {
    fleet.behave(() => "hang");
    const deployed = deploy(v2);
    await untilOrdered(v2);

    const answer = await notify(v2);

    expect(answer).toEqual({ accepted: true });
    expect(await deployed).toEqual({ status: "ready" });
  });

  it("ends a deploy of an image that the platform calls by its digest alone", async () => {
    fleet.behave(() => "hang");
    const digest = `@sha256:${"b".repeat(64)}`;
    const deployed = deploy(`${v2}${digest}`);
    await untilOrdered(`${v2}${digest}`);

    const answer = await notify(`${v2.replace(/:v2$/, "")}${digest}`);

    expect(answer).toEqual({ accepted: true });
    expect(await deployed).toEqual({ status: "ready" });
  });

  it("for another image is ignored", async () => {
    fleet.behave(() => "hang");
    const deployed = deploy(v2);
    await untilOrdered(v2);

    const answer = await notify(v3);

    expect(answer).toEqual({ accepted: false });
    expect(await deployed).toMatchObject({ status: "failed" });
  });

  it("is ignored when nothing is being deployed", async () => {
    await deploy(v2);

    expect(await notify(v2)).toEqual({ accepted: false });
  });
});

describe("a deploy that a batch has begun", () => {
  /** Begins it as a batch does, without an invocation. */
  const begin = async (deployId: string) => {
    const { starts } = await createStartDeploys(fleets)(
      [{ sentinelId: id, image: v2, deployId }],
      "singleton",
      1,
    );
    return { deployId, ...starts[0] };
  };

  const follow = async (begun: DeployRequest["begun"]) =>
    (await post("Caller/deploy", { id, image: v2, begun })).body;

  const putsHere = () => fleet.puts.filter((put) => put.id === id);

  it("is followed to its end, and not ordered again", async () => {
    fleet.behave(() => ({ readyAfterMs: 1_000 }));
    const { deployId, step } = await begin("b-1");

    expect(await follow({ deployId, step })).toEqual({ status: "ready" });
    expect(putsHere()).toMatchObject([{ deployId: "b-1" }]);
    expect(await row()).toMatchObject({ deploy_id: "b-1", running_image: v2 });
  });

  it("ends by a push that came before anybody followed it", async () => {
    fleet.behave(() => "hang");
    const { deployId, step } = await begin("b-2");
    const answer = await notify(v2);

    expect(answer).toEqual({ accepted: true });
    expect(await follow({ deployId, step })).toEqual({ status: "ready" });
  });

  it("does not end by a push for the deploy before it", async () => {
    fleet.behave(() => "hang");
    await begin("b-3");
    await notify(v2);
    await database.query("UPDATE sentinels SET deploy_status = 'failed' WHERE id = $1", [id]);
    const { deployId, step } = await begin("b-4");

    expect(await follow({ deployId, step })).toMatchObject({ status: "failed" });
  });

  it("is begun under its own id when it is not known whether it was", async () => {
    await follow({ deployId: "b-5" });

    expect(putsHere()).toMatchObject([{ deployId: "b-5" }]);
  });
});

describe("FleetService", () => {
  it("lists the fleet page by page", async () => {
    const first = (await post("vedette.v1.FleetService/List", { limit: 20 })).body;
    const cursor = first["next_cursor"];
    const second = (await post("vedette.v1.FleetService/List", { limit: 20, cursor })).body;

    const ids = [first, second].flatMap((page) =>
      (page["sentinels"] as { id: string }[]).map((sentinel) => sentinel.id),
    );
    expect(ids).toHaveLength(30);
    expect(new Set(ids).size).toBe(30);
    expect(second).not.toHaveProperty("next_cursor");
  });
});

describe("ConfirmList", () => {
  it("takes a list that has as many sentinels as were confirmed", async () => {
    const answer = await post("vedette.v1.FleetService/ConfirmList", { count: 30 });

    expect(answer).toEqual({ status: 200, body: { total: 30 } });
  });

  it("is kept with the name of who confirmed, which the list of the fleet shows", async () => {
    await post("vedette.v1.FleetService/ConfirmList", { count: 30 }, "ada");

    const { body } = await post("vedette.v1.FleetService/List", { limit: 1 });

    expect(body["list_confirmed"]).toEqual({ by: "ada", at: expect.any(String) });
  });

  it("refuses another number at once, and says how many there are", async () => {
    const answer = await post("vedette.v1.FleetService/ConfirmList", { count: 5 });

    expect(answer.status).toBe(409);
    expect(answer.body["message"]).toContain("the fleet lists 30 sentinels now, not 5");
  });
});

describe("Log", () => {
  const ask = (body: object) => post("vedette.v1.FleetService/Log", body);

  it("of a sentinel that no deploy has failed of has no lines, and says why", async () => {
    const { status, body } = await ask({ sentinel: id });

    expect([status, body["lines"]]).toEqual([200, []]);
    expect(body["note"]).toContain("no deploy of this sentinel has failed");
  });

  it("is that of the newest failed deploy, also after a good one, and that of what runs", async () => {
    const reason = "crash_loop: exit code 1";
    fleet.behave(() => ({ failAfterMs: 0, reason }));
    await deploy(v2);
    fleet.behave(() => ({ readyAfterMs: 0 }));
    await deploy(v3);

    const failed = (await ask({ sentinel: id })).body;
    const running = (await ask({ sentinel: id, which: "running" })).body;

    const at = expect.any(String);
    const lines = ["no database: token=***"];
    expect(failed).toEqual({ sentinel: id, image: v2, reason, lines, at });
    expect(running).toEqual({ sentinel: id, image: v3, lines: ["serving"], at });
  });

  it("of a sentinel that is not there is a 404", async () => {
    expect((await ask({ sentinel: "nobody" })).status).toBe(404);
  });
});
