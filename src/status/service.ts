/** `StatusReads`: reads the status of everything from those who have it. */
import { type Context, implement } from "@restatedev/restate-sdk";
import type { AlertEventList, AlertEventListRequest } from "#alerts/contract.ts";
import type { FleetOverview, FleetSearch } from "#fleet/overview/contract.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { unkept } from "#kernel/retry-policy.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { toIso } from "#kernel/time.ts";
import type { CheckList } from "#monitor/results/contract.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { type StatusView, statusReads } from "./contract.ts";
import { findWrong } from "./find-wrong.ts";

type Parts = {
  /** The names of the fleets, the default one first. */
  fleets: readonly string[];
  readRollout: (ctx: Context, fleet: string) => Promise<RolloutStatus>;
  readFleet: (fleet: string, search: FleetSearch) => Promise<FleetOverview>;
  readChecks: () => Promise<CheckList>;
  listEvents: (request: AlertEventListRequest) => Promise<AlertEventList>;
  nowMs: () => number;
};

const limits = { limitMs: 10_000, problem: "the status cannot be read" };
const status = databaseRead("read-status", limits);

/** The page of the overview that has the sentinels that are down. */
const ofDown = { search: "", health: "unhealthy", page: 1, limit: 20 } as const;

const dayMs = 24 * 60 * 60_000;

export function createStatusReads(parts: Parts) {
  return implement(statusReads, {
    handlers: {
      Read: async (ctx): Promise<StatusView> => {
        const rollouts: RolloutStatus[] = [];
        for (const fleet of parts.fleets) rollouts.push(await parts.readRollout(ctx, fleet));
        return readNow(ctx, status, () => readStatus(parts, rollouts));
      },
    },
    options: { ...unkept, asTerminalError },
  });
}

async function readStatus(parts: Parts, rollouts: readonly RolloutStatus[]): Promise<StatusView> {
  const nowMs = parts.nowMs();
  const { checks } = await parts.readChecks();
  const read = async (name: string, index: number) => ({
    name,
    rollout: rollouts[index] as RolloutStatus,
    overview: await parts.readFleet(name, ofDown),
  });
  const view = {
    taken_at: toIso(nowMs),
    fleets: await Promise.all(parts.fleets.map(read)),
    alerts: checks.flatMap(({ strip: _, ...check }) => (check.alert === null ? [] : check)),
    deliveries: await readFailing(parts, nowMs),
    checks: countStatuses(checks),
  };
  return { ...view, wrong: findWrong(view) };
}

/** An event that waits for its first attempt does not fail. */
async function readFailing({ listEvents }: Parts, nowMs: number) {
  const dead = await listEvents({ status: "dead", limit: 100 });
  const pending = await listEvents({ status: "pending", limit: 100 });
  return [
    ...dead.events.filter(({ event_at }) => Date.parse(event_at) >= nowMs - dayMs),
    ...pending.events.filter(({ attempts, cause }) => attempts > 0 && cause !== null),
  ];
}

function countStatuses(checks: CheckList["checks"]): StatusView["checks"] {
  const groups = [...Map.groupBy(checks, ({ status }) => status)];
  return Object.fromEntries(groups.map(([status, { length }]) => [status, length]));
}
