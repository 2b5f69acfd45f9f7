/** Fleets that are slow, ill or hostile: what is asked of them ends, and what they say does no harm. */
import { type Context, service } from "@restatedev/restate-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { fleetConfig } from "#fleet/config.ts";
import { type DeployResult, sentinelService } from "#fleet/deploys/contract.ts";
import { createDeployer } from "#fleet/deploys/deployer.ts";
import { createSentinelService } from "#fleet/deploys/service.ts";
import { type Driver, UnreachableError } from "#fleet/drivers/driver.ts";
import { drivers } from "#fleet/drivers/index.ts";
import { createFleetStore } from "#fleet/store.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { deploying } from "../../support/rollout/deploying.ts";
import { createTestListing } from "../../support/rollout/fleet-listing.ts";
import {
  answerJson,
  type FleetScript,
  type ScriptedFleet,
  startScriptedFleet,
  trickle,
} from "../../support/rollout/scripted-fleet.ts";
import {
  startTestDatabase,
  startTestRestate,
  type TestDatabase,
  type TestRestate,
} from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

const v1 = "registry.example.com/vedette/sentinel:v1";
const v2 = "registry.example.com/vedette/sentinel:v2";
const log = createLog({ level: "silent", format: "json" });
const size = 20;
const deployTimeoutMs = 4_000;

/** Far longer than anything here takes, far shorter than for ever. */
const endsWithinMs = 60_000;

const ids = Array.from({ length: size }, (_, i) => `gw-${i}`);

const reported = (id: string, rest: object = {}) => ({
  id,
  image: v2,
  running_image: v1,
  status: "progressing",
  ...rest,
});

/** Takes every order, and answers every look with this. */
const reporting =
  (rest: (id: string) => object): FleetScript =>
  ({ method, id }, answer) =>
    method === "PUT" ? answerJson(answer, 202) : answerJson(answer, 200, reported(id, rest(id)));

const createDriver = (fleet: ScriptedFleet): Driver =>
  drivers.http({
    fleet: fleetConfig.fleet.parse({
      driver: "http",
      deploy_timeout_seconds: 4,
      http: { url: fleet.url, token: "token" },
    }),
    dataDir: "unused",
    apiUrl: "http://127.0.0.1:9",
    rootKey: "root",
    findCredential: () => undefined,
    log,
  });

describe("the driver http", () => {
  const start = async (script: FleetScript) => {
    const fleet = await startScriptedFleet(script);
    const driver = createDriver(fleet);
    onTestFinished(async () => {
      await driver.stop();
      await fleet.stop();
    });
    return { fleet, driver };
  };
  const order = { sentinelId: "gw-1", image: v2, deployId: "d1" };

  it("lists a page however many sentinels it has", async () => {
    const sentinels = Array.from({ length: 200_000 }, (_, i) => ({
      ...{ id: `gw-${i}`, region: "eu", image: v1, healthy: true },
    }));
    const { driver } = await start((_, answer) => answerJson(answer, 200, { sentinels }));

    expect(await driver.list()).toHaveLength(200_000);
  });

  it("ends a call whose answer never ends when it is told to", async () => {
    const { driver } = await start((_, answer) => trickle(answer));
    const signal = () => AbortSignal.timeout(500);

    const looked = driver.observe(order, { signal: signal() });
    const applied = driver.apply(order, { signal: signal() });

    await expect(looked).rejects.toThrow("unreachable: the fleet did not answer in time");
    await expect(applied).rejects.toBeInstanceOf(UnreachableError);
  });

  it("ends a call whose answer never ends by itself", async () => {
    const { driver } = await start((_, answer) => trickle(answer));

    await expect(driver.observe(order)).rejects.toThrow("did not answer in time");
  });

  it("reads no answer further than it may be large", async () => {
    let sent = 0;
    const { driver } = await start((_, answer) => {
      const block = " ".repeat(65_536);
      answer.writeHead(200);
      const write = () => {
        while (!answer.destroyed && sent < 100_000_000) {
          sent += block.length;
          if (!answer.write(block)) return;
        }
        answer.end();
      };
      answer.on("drain", write);
      write();
    });

    await expect(driver.observe(order)).rejects.toThrow("the fleet's answer is too large");
    expect(sent).toBeLessThan(20_000_000);
  });

  it("gives up a list that goes on page after large page", async () => {
    // Encoded once, and nothing to keep: the fake and the driver share a process, and a page has a time limit.
    const padding = Buffer.alloc(30_000_000, " ");
    let page = 0;
    const { driver } = await start((_, answer) => {
      page += 1;
      const sentinels = [{ id: `gw-${page}`, region: "", image: v1, healthy: true }];
      answer.writeHead(200, { "content-type": "application/json" });
      answer.write(JSON.stringify({ sentinels, next_cursor: String(page) }));
      answer.end(padding);
    });

    await expect(driver.list()).rejects.toThrow("the fleet's list has no end");
    expect(page).toBeLessThan(15);
  });

  it("gives up a list that goes on sentinel after sentinel", async () => {
    const sentinels = Array.from({ length: 50_000 }, (_, i) => ({
      ...{ id: `gw-${i}`, region: "", image: "", healthy: true },
    }));
    let page = 0;
    const { driver } = await start((_, answer) => {
      page += 1;
      const more = page < 22 && { next_cursor: String(page) };
      answerJson(answer, 200, { sentinels, ...more });
    });

    await expect(driver.list()).rejects.toThrow("the fleet's list has no end");
    expect(page).toBe(21);
  });

  it("reads a list of nothing but wrong sentinels no further than the first", async () => {
    const { driver } = await start((_, answer) =>
      answerJson(answer, 200, { sentinels: Array(900_000).fill("no sentinel") }),
    );

    await expect(driver.list()).rejects.toThrow("malformed at sentinels.0");
  });

  it("does not look at the sentinels of a page of more than any fleet has", async () => {
    const { driver } = await start((_, answer) =>
      answerJson(answer, 200, { sentinels: Array(12_000_000).fill(0) }),
    );

    await expect(driver.list()).rejects.toThrow("malformed at body");
  });

  it("puts no cursor of any length into an address", async () => {
    const next_cursor = "x".repeat(100_000);
    const { driver } = await start((_, answer) =>
      answerJson(answer, 200, { sentinels: [], next_cursor }),
    );

    await expect(driver.list()).rejects.toThrow("malformed at next_cursor");
  });

  it.each([
    ["the same cursor", () => "x"],
    ["cursors in a circle", (page: number) => ["a", "b", "c"][page % 3]],
  ])("ends a list that comes back to where it was: %s", async (_, cursorOf) => {
    let page = 0;
    const { driver } = await start((_request, answer) => {
      page += 1;
      answerJson(answer, 200, { sentinels: [], next_cursor: cursorOf(page) });
    });

    await expect(driver.list()).rejects.toThrow("the fleet's list repeats a cursor");
    expect(page).toBeLessThan(6);
  });

  it("takes a text of no length as none", async () => {
    const { driver } = await start(({ id }, answer) =>
      id === ""
        ? answerJson(answer, 200, {
            sentinels: [{ id: "gw-1", region: "", image: v1, running_image: "", healthy: true }],
            next_cursor: "",
          })
        : answerJson(
            answer,
            200,
            reported(id, { status: "ready", running_image: "", reason: "", deploy_id: "" }),
          ),
    );

    expect(await driver.observe(order)).toEqual({ status: "ready", isOrdered: true });
    const none = { id: "gw-1", region: "", image: v1, healthy: true, labels: {} };
    expect(await driver.list()).toEqual([none]);
  });

  const told = { ...reported("gw-1", { status: "ready", running_image: v2 }), deploy_id: "d1" };

  it("knows from the answer to its order how the deploy is", async () => {
    const { driver } = await start((_, answer) => answerJson(answer, 200, told));

    expect(await driver.apply(order)).toEqual({
      seen: { status: "ready", running_image: v2, isOrdered: true },
    });
  });

  it.each([
    ["another sentinel", 200, { ...told, id: "gw-2" }],
    ["another deploy", 200, { ...told, deploy_id: "d0" }],
    ["no deploy", 200, { ...told, deploy_id: undefined }],
    ["something that it only takes", 202, told],
    ["something else", 200, { ok: true }],
    ["nothing at all", 200, null],
  ])("asks again when the answer to its order is about %s", async (_, status, body) => {
    const { driver } = await start((_request, answer) => answerJson(answer, status, body));

    expect(await driver.apply(order)).toEqual({});
  });

  it("does not take another image for ready, whatever the answer to its order says", async () => {
    const { driver } = await start((_, answer) =>
      answerJson(answer, 200, { ...told, running_image: v1 }),
    );

    const { seen } = await driver.apply(order);

    expect(seen).toMatchObject({ status: "progressing", deniesReady: true });
  });

  it("follows no redirect, and says so as the fault of the way to the fleet", async () => {
    const { fleet, driver } = await start((_, answer) => {
      answer.writeHead(302, { location: fleet.url }).end();
    });
    const reason = "unreachable: the fleet answered 302, and redirects are not followed";

    expect(await driver.observe(order)).toEqual({ status: "failed", reason, isOfApi: true });
    expect(await driver.apply(order)).toEqual({ failure: reason, isOfApi: true });
    await expect(driver.list()).rejects.toThrow(reason);
    expect(fleet.calls).toHaveLength(3);
  });

  it("leaves out ids that no address can name, and takes all others as they are", async () => {
    const odd = ["a/../b?c#d", "%2e%2e", "%00", "__proto__", "..\\x", "\u{1f600}".repeat(100)];
    const { fleet, driver } = await start(({ id }, answer) =>
      id === ""
        ? answerJson(answer, 200, {
            sentinels: [".", "..", ...odd].map((one) => ({
              ...{ id: one, region: "eu", image: v1, healthy: true },
            })),
          })
        : answerJson(answer, 200, reported(id)),
    );

    const listed = await driver.list();
    for (const { id } of listed) await driver.observe({ ...order, sentinelId: id });

    expect(listed.map(({ id }) => id)).toEqual(odd);
    expect(fleet.calls.slice(1).map(({ id }) => id)).toEqual(odd);
  });

  it("gives no image another name: one that cannot be kept as it is counts as unknown", async () => {
    const image = `registry.example.com/${"x".repeat(600)}:v1`;
    const { driver } = await start((_, answer) =>
      answerJson(answer, 200, {
        sentinels: [{ id: "gw-1", region: "eu", image, running_image: image, healthy: true }],
      }),
    );

    expect(await driver.list()).toMatchObject([{ id: "gw-1", region: "eu", image: "" }]);
  });

  it("takes a list for what it is, whatever it has for labels", async () => {
    const labels = [7, "tier=canary", ["canary"], { tier: "canary", "a b": "c", n: 7, o: {} }];
    const sentinel = { region: "eu", image: v1, healthy: true };
    const { driver } = await start((_, answer) =>
      answerJson(answer, 200, {
        sentinels: labels.map((some, i) => ({ id: `gw-${i}`, ...sentinel, labels: some })),
      }),
    );

    const listed = await driver.list();

    expect(listed.map((one) => one.labels)).toEqual([{}, {}, {}, { tier: "canary" }]);
  });

  it("is not kept from one sentinel by many others that hang", async () => {
    const { fleet, driver } = await start(({ id }, answer) => {
      if (id === "well")
        answerJson(answer, 200, reported(id, { status: "ready", running_image: v2 }));
    });
    const end = new AbortController();
    const hanging = Array.from({ length: 200 }, (_, i) =>
      driver.observe({ ...order, sentinelId: `ill-${i}` }, { signal: end.signal }).catch(() => {}),
    );
    await waitFor(() => fleet.calls.length === 200, { withinMs: 20_000, what: "200 to hang" });

    const seen = await driver.observe({ ...order, sentinelId: "well" });

    end.abort();
    await Promise.all(hanging);
    expect(seen.status).toBe("ready");
  });

  it("takes an answer that is about another sentinel as none", async () => {
    const { driver } = await start(reporting(() => ({ id: "gw-2", status: "ready" })));

    await expect(driver.observe(order)).rejects.toThrow("malformed at id");
  });

  it("does not take what is said of an earlier deploy as said of this one", async () => {
    const stale = { status: "failed", reason: "crash_loop", deploy_id: "d0" };
    const { fleet, driver } = await start(reporting(() => stale));

    const seen = await driver.observe(order);

    expect(seen).toMatchObject({ status: "progressing", isOrdered: false });
    expect(fleet.calls.at(-1)?.query.get("deploy_id")).toBe("d1");
  });

  it("cleans and bounds what is said, and leaves out what has no usable id", async () => {
    const hostile = { region: "e\u0000u", image: v1, healthy: true };
    const names = ["gw-1", "gw\u0000", "x".repeat(301)];
    const { driver } = await start(({ id }, answer) =>
      id === ""
        ? answerJson(answer, 200, { sentinels: names.map((name) => ({ id: name, ...hostile })) })
        : answerJson(
            answer,
            200,
            reported(id, { status: "failed", reason: `\u202e\u0000${"r".repeat(50_000)}` }),
          ),
    );

    const listed = await driver.list();
    const { reason = "" } = await driver.observe(order);

    expect(listed).toMatchObject([{ id: "gw-1", region: "e u" }]);
    expect(reason).toMatch(/^ {2}r+$/);
    expect(reason.length).toBeLessThanOrEqual(1_024);
  });
});

/** Deploy is private: only services call it. */
const caller = service({
  name: "Caller",
  handlers: {
    deploy: (ctx: Context, request: { id: string; image: string }): Promise<DeployResult> =>
      ctx.client(sentinelService, request.id).Deploy({ image: request.image }),
  },
});

describe("a deploy", () => {
  let fleet: ScriptedFleet;
  let driver: Driver;
  let server: TestDatabase;
  let database: Database;
  let restate: TestRestate;
  let next = 0;
  let id = "";

  beforeAll(async () => {
    fleet = await startScriptedFleet(reporting(() => ({})));
    driver = createDriver(fleet);
    server = await startTestDatabase();
    await migrate(server.url, log);
    database = openDatabase(server.url, log);
    const sentinels = ids.map((one) => ({ id: one, region: "eu", image: v1, healthy: true }));
    const list = async () => sentinels;
    await createTestListing(database, { ...driver, list }).list();
    const store = createFleetStore(database);
    const fleets = deploying(createDeployer(driver, store), deployTimeoutMs);
    restate = await startTestRestate({
      services: [createSentinelService({ fleets, store }), caller],
    });
  });

  afterAll(async () => {
    await fleet.stop();
    await restate.stop();
    await database.end();
    await server.stop();
    await driver.stop();
  });

  beforeEach(() => {
    id = ids[next++] ?? "";
  });

  const post = async (path: string, body: unknown) => {
    const answer = await fetch(`${restate.ingressUrl}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Record<string, unknown>;
  };

  const deploy = () => post("Caller/deploy", { id, image: v2 });

  const row = async () => {
    const { rows } = await database.query("SELECT * FROM sentinels WHERE id = $1", [id]);
    return rows[0] as Record<string, unknown>;
  };

  const untilLookedAt = () =>
    waitFor(() => fleet.calls.some((call) => call.id === id && call.method === "GET"), {
      withinMs: 20_000,
      what: "the sentinel to be looked at",
    });

  it("fails at its deadline although every answer of the fleet trickles", async () => {
    fleet.play((_, answer) => trickle(answer));
    const startedAtMs = performance.now();

    const result = await deploy();

    expect(result).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^unreachable/),
    });
    expect(performance.now() - startedAtMs).toBeLessThan(endsWithinMs);
  });

  it("that fails with a reason no database can store fails all the same, and frees the sentinel", async () => {
    fleet.play(reporting(() => ({ status: "failed", reason: "crash\u0000\u202e\ud800" })));

    const result = await deploy();

    fleet.play(reporting(() => ({ status: "ready", running_image: v2 })));
    expect(result).toMatchObject({ status: "failed", reason: "crash  \ufffd" });
    expect(await deploy()).toEqual({ status: "ready" });
  });

  it("of an image that is not known fails without an order", async () => {
    const puts = () => fleet.calls.filter(({ method }) => method === "PUT").length;
    const before = puts();

    const result = await post("Caller/deploy", { id, image: "" });

    expect(result).toMatchObject({
      status: "failed",
      reason: "config_invalid: the image to deploy is not known",
    });
    expect(puts()).toBe(before);
  });

  it("is not failed by what the fleet still says of the one before it", async () => {
    fleet.play(reporting(() => ({ status: "failed", reason: "crash_loop" })));
    const first = await deploy();
    let looks = 0;
    // This fleet names no deploy, and takes a moment to notice an order.
    fleet.play(({ method }, answer) => {
      if (method === "PUT") return answerJson(answer, 202);
      looks += 1;
      const rest = looks <= 2 ? { status: "failed" } : { status: "ready", running_image: v2 };
      answerJson(answer, 200, reported(id, rest));
    });

    const second = await deploy();

    expect(first).toMatchObject({ status: "failed", reason: "crash_loop" });
    expect(second).toEqual({ status: "ready" });
  });

  it("is not made ready by a push while the fleet takes no order", async () => {
    fleet.play((_, answer) => answerJson(answer, 503));
    const calls = fleet.calls.length;
    const deployed = deploy();
    await waitFor(() => fleet.calls.length > calls, { withinMs: 20_000, what: "the order" });

    await post(`vedette.v1.SentinelService/${id}/NotifyReady`, { image: v2 });

    expect(await deployed).toMatchObject({ status: "failed" });
    expect(await row()).toMatchObject({ running_image: v1, deploy_status: "failed" });
  });

  it("is made ready by a push once the fleet has the order", async () => {
    fleet.play(reporting(() => ({})));
    const deployed = deploy();
    await untilLookedAt();

    await post(`vedette.v1.SentinelService/${id}/NotifyReady`, { image: v2 });

    expect(await deployed).toEqual({ status: "ready" });
  });

  it("is not made ready by a push against which the fleet says that another image serves", async () => {
    fleet.play(reporting(() => ({ status: "ready", running_image: v1 })));
    const deployed = deploy();
    await untilLookedAt();

    await post(`vedette.v1.SentinelService/${id}/NotifyReady`, { image: v2 });

    expect(await deployed).toMatchObject({ status: "failed" });
  });

  it("is not failed by an outage of ours that was longer than its deadline", async () => {
    fleet.play(reporting(() => ({})));
    await post("Caller/deploy/send", { id, image: v2 });
    await untilLookedAt();
    await restate.kill9();
    const awayUntilMs = Date.now() + 2 * deployTimeoutMs;
    await waitFor(() => Date.now() > awayUntilMs, { withinMs: 30_000, what: "the outage to pass" });
    const calls = () => fleet.calls.filter((call) => call.id === id).length;
    const before = calls();
    // The fleet's own agents come back a moment after us. The order comes again if its answer was not kept.
    fleet.play(({ method }, answer) => {
      if (calls() <= before + 2) answerJson(answer, 503);
      else if (method === "PUT") answerJson(answer, 202);
      else answerJson(answer, 200, reported(id, { status: "ready", running_image: v2 }));
    });

    await restate.restart();

    const ended = await waitFor(
      async () => {
        const now = await row();
        return now["deploy_status"] !== "progressing" && now;
      },
      { withinMs: 60_000, what: "the deploy to end" },
    );
    expect(ended).toMatchObject({ deploy_status: "ready", running_image: v2 });
  });
});
