/** Pings and the reports of further places through the gateway, on a real Restate and a real database. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { createControl } from "#control/control.ts";
import type { Door } from "#control/short-answers.ts";
import { createLog } from "#kernel/log.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { createPingDoor } from "#monitor/heartbeat/pings.ts";
import { createRunnerDoor } from "#monitor/locations/gateway.ts";
import { createRunnerClient, RunnerRefusedError } from "#monitor/locations/runner.ts";
import { gridOf, nextTick } from "#monitor/rules/grid.ts";
import { aCheckResult, aHeartbeat, anApiCheck } from "../../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const heartbeat = aHeartbeat({ id: "nightly", periodSeconds: 600 });
const makeToken = () => randomBytes(32).toString("base64url");
const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");

type BenchOptions = Parameters<typeof startMonitorBench>[0];

const anHourAgoMs = Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000;

async function startDoors(options: BenchOptions) {
  const bench = await startMonitorBench(options);
  const { ingressUrl } = bench.restate;
  const runnerDoor = createRunnerDoor({
    runners: bench.runners,
    readChecks: async () => options.apiChecks ?? [],
    whyOff: () => [],
    baseUrl: bench.target.url,
    report: bench.states.report,
    nowMs: Date.now,
  });
  const short = { answers: 0 };
  const pingDoor = countAnswers(createPingDoor(bench.takePing), short);
  const url = await serveDoors([pingDoor, runnerDoor], ingressUrl);
  return { ...bench, url, short };
}

/** Counts the answers that a door makes in front of the framework. */
function countAnswers(door: Required<Door>, short: { answers: number }): Door {
  const answer: Required<Door>["answer"] = (method, path) => {
    const made = door.answer(method, path);
    if (made !== null) short.answers += 1;
    return made;
  };
  return { ...door, answer };
}

/** Control with these doors, at the address that is answered. */
async function serveDoors(doors: readonly Door[], ingressUrl: string): Promise<string> {
  const control = createControl({
    ingressUrl,
    ingressToken: "the-ingress-token",
    log: createLog({ level: "silent", format: "json" }),
    doors,
  });
  onTestFinished(() => control.close());
  return control.listen({ host: "127.0.0.1", port: 0 });
}

type Doors = Awaited<ReturnType<typeof startDoors>>;

async function register(bench: Doors): Promise<string> {
  const token = makeToken();
  const { status } = await bench.call("vedette.v1.Heartbeat/nightly/Register", {
    token_hash: hashOf(token),
  });
  expect(status).toBe(200);
  return `${bench.url}/${token}`;
}

/** Makes a request the framework's, and changes its answer in nothing. */
const ofFramework = { headers: { connection: "keep-alive, x-hop" } };

/** The whole answer, but for what differs between any two. */
async function ask(url: string, options: { method?: string; headers?: Record<string, string> }) {
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const sent = request(url, { agent, ...options }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const { date: _, "x-request-id": requestId, ...headers } = answer.headers;
  return { status: answer.statusCode, body: await text(answer), headers, hasId: !!requestId };
}

/** The answer that is made in front of the framework, and the framework's own. */
async function askBoth({ short }: Doors, url: string, options: { method?: string } = {}) {
  const before = short.answers;
  const first = await ask(url, options);
  const made = short.answers - before;
  const second = await ask(url, { ...options, ...ofFramework });
  expect([made, short.answers - before]).toEqual([1, 1]);
  return [first, second];
}

describe("the ping URL", () => {
  it("takes GET, HEAD and POST, whatever a job sends along", async () => {
    const bench = await startDoors({ heartbeats: [heartbeat] });
    const url = await register(bench);
    const output = { "content-type": "text/plain" };
    const json = { "content-type": "application/json" };

    const answers = await Promise.all([
      fetch(url),
      fetch(`${url}/`),
      fetch(`${url}?rid=17`),
      fetch(url, { method: "HEAD" }),
      fetch(url, { method: "POST" }),
      fetch(url, { method: "POST", headers: output, body: "x".repeat(100_000) }),
      fetch(url, { method: "POST", headers: json, body: "{not json" }),
      fetch(`${url}/start`, { method: "POST" }),
      fetch(`${url}/0`),
    ]);

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await answers[0]?.text()).toBe("ok\n");
    expect(answers[0]?.headers.get("cache-control")).toBe("no-store");
  });

  it.each([
    ["GET", "", 200],
    ["GET", "/", 200],
    ["GET", "?rid=17", 200],
    ["HEAD", "", 200],
    ["POST", "", 200],
    ["POST", "/start", 200],
    ["GET", "/fail", 200],
    ["HEAD", "/0", 200],
  ] as const)(
    "%s %s is answered %i in front of the framework and by it alike",
    async (method, suffix, status) => {
      const bench = await startDoors({ heartbeats: [heartbeat] });
      const url = `${await register(bench)}${suffix}`;

      const answers = await askBoth(bench, url, { method });

      expect(answers[0]).toMatchObject({ status, hasId: true });
      expect(answers[1]).toEqual(answers[0]);
    },
  );

  it.each(["", "/start", "/1"])("a stranger's %s is answered alike, too", async (suffix) => {
    const bench = await startDoors({ heartbeats: [heartbeat] });
    const url = `${bench.url}/${makeToken()}${suffix}`;

    const answers = await askBoth(bench, url);

    expect(answers[0]).toMatchObject({ status: 404, body: "not found\n", hasId: true });
    expect(answers[1]).toEqual(answers[0]);
  });

  it.each(["GET", "HEAD"])("a %s that cannot be written is answered alike, too", async (method) => {
    const bench = await startDoors({ heartbeats: [heartbeat] });
    const url = await register(bench);
    await bench.database.query(
      "ALTER TABLE heartbeat_pings ADD CONSTRAINT no_ping CHECK (id IS NULL)",
    );

    const answers = await askBoth(bench, url, { method });

    const body = method === "HEAD" ? "" : "try again\n";
    expect(answers[0]).toMatchObject({ status: 503, body, hasId: true });
    expect(answers[1]).toEqual(answers[0]);
  });

  it("a ping that cannot be written is told when to try again", async () => {
    const bench = await startDoors({ heartbeats: [heartbeat] });
    const url = await register(bench);
    await bench.database.query(
      "ALTER TABLE heartbeat_pings ADD CONSTRAINT no_ping CHECK (id IS NULL)",
    );

    const answer = await fetch(url);

    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("5");
  });

  it("is no address to anyone without its token", async () => {
    const bench = await startDoors({ heartbeats: [heartbeat] });
    const url = await register(bench);

    const answers = await Promise.all([
      fetch(`${bench.url}/${makeToken()}`),
      fetch(`${bench.url}/${makeToken()}/fail`),
      fetch(`${url}/1000`),
      fetch(`${url.slice(0, -1)}`),
      fetch(url, { method: "PUT" }),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  });

  it("needs no Restate", async () => {
    const bench = await startDoors({ heartbeats: [heartbeat] });
    const url = await register(bench);
    await bench.restate.kill9();

    const success = await fetch(url);
    const failure = await fetch(`${url}/fail`);
    await bench.untilOrders(1);

    expect([success.status, failure.status]).toEqual([200, 200]);
    expect(bench.orders[0]?.transition.reason).toBe("the job said that it failed");
  });
});

const check = anApiCheck({ id: "probe", frequencySeconds: 1, locations: ["eu-central-1"] });

/** A place that reports one run of the check as it is told. */
async function addPlace(bench: Doors, location: string) {
  const token = makeToken();
  await bench.runners.add(location, { tokenHash: hashOf(token), by: "ada" });
  const client = createRunnerClient({ control: bench.url, token });
  const { checks } = (await client.fetchWork()).work;
  return {
    client,
    checks,
    report: (scheduledAtMs: number, changes: Partial<CheckResult> = {}) =>
      client.report([aCheckResult({ checkId: "probe", location, scheduledAtMs, ...changes })]),
  };
}

/** Reports for every tick until it is told to stop. */
function keepReporting(of: ApiCheck, report: (tickMs: number) => Promise<void>) {
  let tickMs = nextTick(gridOf(of), Date.now());
  const reported = { last: Promise.resolve() };
  const timer = setInterval(() => {
    if (Date.now() < tickMs) return;
    reported.last = report(tickMs);
    tickMs = nextTick(gridOf(of), tickMs);
  }, 20);
  const stop = async () => {
    clearInterval(timer);
    await reported.last.catch(() => {});
  };
  onTestFinished(stop);
  return stop;
}

const refused = { grade: "failed", cause: "error", reason: "connection refused" } as const;

describe("a further place", () => {
  it("gets what runs at places of its kind, with placeholders for the secrets", async () => {
    const elsewhere = anApiCheck({ id: "elsewhere", locations: ["us-east-1"] });
    const secret = anApiCheck({ id: "secret", headers: { authorization: "Bearer {{ROOT_KEY}}" } });
    const bench = await startDoors({ apiChecks: [check, elsewhere, secret] });

    const hosted = await addPlace(bench, "eu-central-1");
    const own = await addPlace(bench, "fra");

    expect(hosted.checks.map(({ id }) => id)).toEqual(["probe", "secret"]);
    expect(own.checks.map(({ id }) => id)).toEqual(["probe", "elsewhere", "secret"]);
    expect(own.checks[2]).toMatchObject({ headers: { authorization: "Bearer {{ROOT_KEY}}" } });
  });

  it("gets no check of a kind that it does not say it knows", async () => {
    const { channel, ...needed } = check;
    const { id, name, environment, locations, ...times } = needed;
    const { frequencySeconds, degradedAboveMs, failedAboveMs, failedRunThreshold } = times;
    const tcp: ApiCheck = {
      ...{ id: "tcp", name, environment, locations, channel, frequencySeconds },
      ...{ degradedAboveMs, failedAboveMs, failedRunThreshold },
      ...{ kind: "tcp", host: "127.0.0.1", port: 1, send: null, expect: null },
    };
    const bench = await startDoors({ apiChecks: [check, tcp] });
    const token = makeToken();
    await bench.runners.add("fra", { tokenHash: hashOf(token), by: "ada" });

    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const body = JSON.stringify({ kinds: ["http"] });
    const earlier = await fetch(`${bench.url}/runner/work`, { method: "POST", headers, body });
    const client = createRunnerClient({ control: bench.url, token });
    const current = await client.fetchWork();

    expect(await earlier.json()).toHaveProperty("checks", [needed]);
    expect(current.work.checks.map((one) => one.id)).toEqual([check.id, "tcp"]);
    expect(current.unknownKinds).toEqual([]);
  });

  it("is refused without a token that is its own", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const stranger = createRunnerClient({ control: bench.url, token: makeToken() });
    const operator = createRunnerClient({ control: bench.url, token: "the-ingress-token" });

    await expect(stranger.fetchWork()).rejects.toThrow(RunnerRefusedError);
    await expect(operator.fetchWork()).rejects.toThrow(RunnerRefusedError);
    await expect(stranger.report([aCheckResult({ checkId: "probe" })])).rejects.toThrow(
      RunnerRefusedError,
    );
  });

  it("is waited for: a run fails where it fails, and is over when no place fails", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const fra = await addPlace(bench, "fra");
    const state = { isWell: false };
    keepReporting(check, (tickMs) => fra.report(tickMs, state.isWell ? {} : refused));

    await bench.start();
    await bench.untilOrders(1);
    state.isWell = true;
    await bench.untilOrders(2);

    expect(bench.orders[0]?.transition).toMatchObject({
      kind: "opened",
      reason: "fra: connection refused",
      locations: ["fra"],
    });
    expect(bench.orders[1]?.transition.kind).toBe("resolved");
    const { locations } = await bench.snapshot("probe");
    expect(Object.keys(locations).sort()).toEqual(["fra", "local"]);
  });

  it("is heard also when it reports before the run has begun here", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const fra = await addPlace(bench, "fra");
    await bench.start();

    await waitFor(
      async () => {
        await fra.report(nextTick(gridOf(check), Date.now() + 300), refused);
        return bench.orders.length > 0;
      },
      { withinMs: 60_000, what: "an alert" },
    );

    expect(bench.orders[0]?.transition).toMatchObject({ kind: "opened", locations: ["fra"] });
  });

  it("has all of a full report written", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const fra = await addPlace(bench, "fra");
    const ticks = Array.from({ length: 100 }, (_, i) => anHourAgoMs + i * 1_000);

    await fra.client.report(
      ticks.map((scheduledAtMs) => aCheckResult({ checkId: "probe", scheduledAtMs })),
    );

    expect((await bench.results()).map(({ atMs }) => atMs)).toEqual(ticks);
  });

  it("that fails alone fails no run where more have to", async () => {
    // Slow enough that both places are in time, also on a busy machine.
    const slow = { ...check, frequencySeconds: 3 };
    const bench = await startDoors({ apiChecks: [slow], failedAtPercent: 60 });
    const fra = await addPlace(bench, "fra");
    keepReporting(slow, (tickMs) => fra.report(tickMs, refused));

    await bench.start();
    await waitFor(
      async () => (await bench.results()).filter(({ location }) => location === "fra").length >= 2,
      { withinMs: 60_000, what: "reports" },
    );
    expect(bench.orders).toEqual([]);
    bench.target.fails();
    await bench.untilOrders(1);

    expect(bench.orders[0]?.transition.locations).toContain("local");
  });

  it("is shown as silent when it stops reporting, which resolves nothing of its", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const fra = await addPlace(bench, "fra");
    const stop = keepReporting(check, (tickMs) => fra.report(tickMs, refused));
    await bench.start();
    await bench.untilOrders(1);

    await stop();
    const silent = await waitFor(
      async () => {
        const found = await bench.snapshot("probe");
        return found.locations.fra?.isSilent === true && found;
      },
      { withinMs: 20_000, what: "silence" },
    );
    const seen = (await bench.results()).length;
    await bench.untilResults(seen + 2);

    expect(silent.locations.fra.grade).toBe("failed");
    expect(bench.orders.map(({ transition }) => transition.kind)).toEqual(["opened"]);
    expect((await bench.snapshot("probe")).alert.locations).toEqual(["fra"]);
  });

  it("reports under its own name, whatever the report says", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const fra = await addPlace(bench, "fra");

    await fra.client.report([
      aCheckResult({ checkId: "probe", location: "local", scheduledAtMs: anHourAgoMs }),
      aCheckResult({ checkId: "of-no-check", scheduledAtMs: anHourAgoMs }),
    ]);
    await bench.untilResults(1);

    expect(await bench.results()).toMatchObject([
      { check: "probe", location: "fra", atMs: anHourAgoMs },
    ]);
  });

  it("cannot have run a tick that is to come, nor has kept one for long", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const fra = await addPlace(bench, "fra");

    await fra.report(Date.now() + 60_000);
    await fra.report(anHourAgoMs - 40 * 86_400_000);
    await fra.report(anHourAgoMs);
    await bench.untilResults(1);

    expect((await bench.results()).map(({ atMs }) => atMs)).toEqual([anHourAgoMs]);
  });

  it("that was removed is neither heard nor waited for", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const fra = await addPlace(bench, "fra");
    await bench.runners.remove("fra", "ada");

    await bench.start();
    await bench.untilResults(2);

    await expect(fra.report(anHourAgoMs)).rejects.toThrow(RunnerRefusedError);
    const { locations } = await bench.snapshot("probe");
    expect(Object.keys(locations)).toEqual(["local"]);
  });

  it("that reports nonsense is told so", async () => {
    const bench = await startDoors({ apiChecks: [check] });
    const fra = await addPlace(bench, "fra");

    await expect(fra.report(1.5)).rejects.toThrow("400");
  });
});
