/** All services of a rollout on a real Restate and a real Postgres, over a fleet in memory. */
import { type Context, service } from "@restatedev/restate-sdk";
import { createAskWebhook } from "#alerts/channels/webhook.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { createCountStore } from "#fleet/counters/store.ts";
import type { StartDeploys } from "#fleet/deploys/contract.ts";
import { createDeployer } from "#fleet/deploys/deployer.ts";
import { createSentinelService, type Deploying } from "#fleet/deploys/service.ts";
import { createStartDeploys } from "#fleet/deploys/start.ts";
import type { OnDrift } from "#fleet/drift-contract.ts";
import { driverOfFleet } from "#fleet/drivers/index.ts";
import { createFleetService } from "#fleet/fleet-service.ts";
import { createReadLog } from "#fleet/logs/read.ts";
import { createLogStore } from "#fleet/logs/store.ts";
import { createFleetStore } from "#fleet/store.ts";
import { signActor } from "#kernel/actor.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createReach } from "#kernel/reach.ts";
import type { CiRun } from "#kernel/roles.ts";
import { createTraceService } from "#kernel/trace-service.ts";
import { createReadGate, createReadRuns } from "#monitor/results/gate.ts";
import { type RolloutHandlerName, singletonKey } from "#rollout/contract.ts";
import { rolloutReconciler } from "#rollout/desired/reconciler.ts";
import { type ResolveImage, requireOperator } from "#rollout/fleets.ts";
import type { GateRow } from "#rollout/gates/contract.ts";
import type { PrometheusServer } from "#rollout/gates/query-prometheus.ts";
import { rolloutObject } from "#rollout/internal.ts";
import { createReadDrift, createRolloutServices } from "#rollout/services.ts";
import type { HeadPolicy } from "#rollout/state.ts";
import { type Chat, createChat } from "../alerts/chat.ts";
import { startFakeChat } from "../alerts/fake-chat.ts";
import { createTestDatabase } from "../run/shared-postgres.ts";
import type { CrashProxy } from "../servers/crash-proxy.ts";
import { queryRestate } from "../servers/restate-query.ts";
import { startTestRestate } from "../servers/servers.ts";
import { readActor } from "../signed-call.ts";
import { createTestListing } from "./fleet-listing.ts";
import { createMemoryFleet, type MemoryFleet } from "./memory-fleet.ts";

export type RolloutBench = Awaited<ReturnType<typeof startRolloutBench>>;

export type Answer = { status: number; body: Record<string, unknown> & { state?: string } };

type BenchOptions = {
  size?: number;
  maxParallel?: number;
  alwaysReplay?: boolean;
  killsPostgres?: boolean;
  /** Stands between Restate and the services. */
  through?: CrashProxy;
  /** What the settings say. */
  policy?: HeadPolicy;
  /** Begins deploys of a group, around the real one. */
  starting?: (start: StartDeploys) => StartDeploys;
  /** The image gate; absent: none. */
  resolveImage?: ResolveImage;
  /** Fleets besides the default one, by name. */
  fleets?: Record<string, MemoryFleet>;
  /** Of the fleets that name them. */
  /** How its messages are delivered. */
  chat?: Partial<Chat>;
  operators?: Record<string, string[]>;
  /** The channels that gates may ask; their secret is `webhookSecret`. */
  webhooks?: ChannelOf<"webhook">[];
  /** The gates of the definitions, as they are at each request; absent: none. */
  gateRows?: () => GateRow[];
  /** Where gates measure; absent: nowhere. */
  prometheus?: PrometheusServer;
  /** The setting for drifted sentinels; absent: they are reported. */
  onDrift?: () => OnDrift;
  /** The settings that a check of a gate lacks; absent: none lacks any. */
  whyOff?: (check: string) => string[];
};

type Headers = Record<string, string>;

const actorKey = Buffer.alloc(32, 7);

export const webhookSecret = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;

const objectPath = "vedette.v1.SentinelRolloutService";

/** Reaches the private handlers that time would call. */
const testService = service({
  name: "Test",
  handlers: {
    checkDrift: (ctx: Context, { fleet }: { fleet: string }) =>
      ctx.client(rolloutReconciler, fleet).check({}),
    repair: (ctx: Context, request: { runner: string }) =>
      ctx.client(rolloutObject, singletonKey).repair(request),
  },
});

/** Counts the steps of deploys that have an invocation of their own. */
function countSteps(fleets: ReadonlyMap<string, Deploying>) {
  let steps = 0;
  const counting = <Given extends unknown[], Step>(step: (...given: Given) => Step) => {
    return (...given: Given) => {
      steps++;
      return step(...given);
    };
  };
  const counted = [...fleets].map(([name, { deployer, ...deploying }]): [string, Deploying] => {
    const { start, observe } = deployer;
    return [
      name,
      { ...deploying, deployer: { start: counting(start), observe: counting(observe) } },
    ];
  });
  return { fleets: new Map(counted), steps: () => steps };
}

export async function startRolloutBench(options: BenchOptions = {}) {
  const { size = 12, maxParallel = 100, alwaysReplay = false, killsPostgres = false } = options;
  const log = createLog({ level: "silent", format: "json" });
  const fleet = createMemoryFleet(size);
  const others = options.fleets ?? {};
  const chat = await startFakeChat();
  const server = await createTestDatabase({ isKilled: killsPostgres });
  const database = openDatabase(server.url, log);
  const store = createFleetStore(database);
  const drivers = Object.entries({ singleton: fleet, ...others }).map(([name, { driver }]) => ({
    name,
    driver: driverOfFleet(driver, { fleet: name, fleets: Object.keys(others) }),
  }));
  const listings = new Map(
    drivers.map(({ name, driver }) => [name, createTestListing(database, driver, { fleet: name })]),
  );
  const deployTimeoutMs = 20_000;
  const fleets = new Map(
    drivers.map(({ name, driver }) => [
      name,
      { deployer: createDeployer(driver, store), deployTimeoutMs },
    ]),
  );
  const counted = countSteps(fleets);
  const startDeploys = createStartDeploys(fleets);
  const notices = createChat({ database, webhookUrlOf: () => chat.url, ...options.chat });
  notices.delivery.start();
  const restate = await startTestRestate({
    alwaysReplay,
    ...(options.through && { through: options.through }),
    services: [
      createSentinelService({ fleets: counted.fleets, store }),
      createFleetService({
        store,
        listings,
        readLog: createReadLog({ store: createLogStore(database), fleets: new Map() }),
        readDrift: createReadDrift(database, () => options.onDrift?.() ?? "report"),
        readActor,
        requireOperator: (actor, name) =>
          requireOperator(actor, { name, operators: options.operators?.[name] }),
      }),
      ...notices.services,
      testService,
      createTraceService(),
      ...createRolloutServices({
        fleets: [...listings].map(([name, { list }]) => ({
          name,
          listFleet: list,
          readProblem: async () => null,
          resolveImage: options.resolveImage ?? (async (image) => ({ image })),
          policy: options.policy ?? {},
          operators: options.operators?.[name],
          maxParallel,
          deployTimeoutMs,
          ...(options.prometheus && { prometheus: options.prometheus }),
          get onDrift() {
            return options.onDrift?.() ?? "report";
          },
        })),
        readMembers: store.members,
        orders: store,
        startDeploys: options.starting?.(startDeploys) ?? startDeploys,
        findOrdered: store.findOrdered,
        readGateTargets: async () => ({
          known: ["verify-key", "rate-limit", "liveness"],
          whyOff: (check) => options.whyOff?.(check) ?? [],
          webhooks: (options.webhooks ?? []).map(({ id }) => id),
          rows: options.gateRows?.() ?? [],
        }),
        readCounts: createCountStore(database).read,
        gateTools: {
          readChecks: createReadGate(database, { failedAtPercent: 0, findOwn: async () => [] }),
          askWebhook: createAskWebhook({
            readChannels: async () => options.webhooks ?? [],
            readSecret: (name) => ({
              value: webhookSecret,
              bindings: [{ name, hosts: "127.0.0.1" }],
            }),
            timeoutMs: 2_000,
            nowMs: Date.now,
            reach: createReach(),
          }),
        },
        readRuns: createReadRuns(database, { failedAtPercent: 0 }),
        database,
        actorKey,
        endInvocations: async () => {},
        listForMs: 300,
      }),
    ],
  });

  /** As the gateway would for this actor; without one as anybody beside Restate. */
  const post = async (
    path: string,
    body: unknown,
    actor?: string,
    { headers, ...person }: { accounts?: string[]; ciRun?: CiRun; headers?: Headers } = {},
  ): Promise<Answer> => {
    const text = JSON.stringify(body);
    const signed = { target: path.replace(/\/send$/, ""), body: text, ...person };
    const answer = await fetch(`${restate.ingressUrl}/${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(actor !== undefined && signActor(actor, signed, actorKey)),
        ...headers,
      },
      body: text,
    });
    return { status: answer.status, body: (await answer.json()) as Answer["body"] };
  };

  const query = (sql: string) => queryRestate(restate.adminUrl, sql);

  return {
    ownSteps: counted.steps,
    fleet,
    maxParallel,
    chat,
    database,
    postgres: server,
    restate,
    post,
    /** Calls the timer's own handler, which only services may, through one that may. */
    repair: (runner: string) => post("Test/repair", { runner }),
    /** Checks for drift as the timed job does after each list. */
    checkDrift: async (fleet = singletonKey) => {
      await listings.get(fleet)?.list();
      return (await post("Test/checkDrift", { fleet })).body as unknown as string;
    },
    call: (handler: RolloutHandlerName, body: unknown = {}, headers: Headers = {}) =>
      post(`${objectPath}/singleton/${handler}`, body, undefined, { headers }),
    /** The same, of a fleet by its name. */
    callOf: (name: string, handler: RolloutHandlerName, body: unknown = {}) =>
      post(`${objectPath}/${name}/${handler}`, body),
    /** In the name of an operator whom the gateway has authenticated. */
    callAs: (actor: string, handler: RolloutHandlerName, body: unknown = {}) =>
      post(`${objectPath}/singleton/${handler}`, body, actor),
    /** In the name of an operator who has these accounts at the identity provider, or of a CI job. */
    callAsPerson: (
      { actor, ...person }: { actor: string; accounts: string[]; ciRun?: CiRun },
      handler: RolloutHandlerName,
      body: unknown = {},
    ) => post(`${objectPath}/singleton/${handler}`, body, actor, person),
    send: (handler: RolloutHandlerName, body: unknown = {}) =>
      post(`${objectPath}/singleton/${handler}/send`, body),
    /** Runs SQL on Restate's own tables. */
    query,
    /** A key of the rollout object's durable state. */
    state: async (key: string): Promise<Record<string, string>> => {
      const [row] = await query(
        `SELECT value_utf8 FROM state WHERE service_name = 'vedette.v1.SentinelRolloutService' AND key = '${key}'`,
      );
      return JSON.parse(row?.["value_utf8"] ?? "{}") as Record<string, string>;
    },
    kill: async (invocation: string) => {
      await fetch(`${restate.adminUrl}/invocations/${invocation}/kill`, { method: "PATCH" });
    },
    stop: async () => {
      fleet.release();
      await restate.stop();
      await notices.delivery.stop();
      await database.end();
      await server.stop();
      await chat.stop();
    },
  };
}
