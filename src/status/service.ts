/** `StatusReads`: reads the status of everything from those who have it. */
import { type Context, implement } from "@restatedev/restate-sdk";
import type { AlertEventList, AlertEventListRequest } from "#alerts/contract.ts";
import { defaultFleet, fleetOption } from "#fleet/contract.ts";
import type { FleetOverview, FleetSearch } from "#fleet/overview/contract.ts";
import { inTime } from "#kernel/async.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import { cleanText, someOf } from "#kernel/text.ts";
import { formatSpan, formatUtc, toIso } from "#kernel/time.ts";
import { callerWords, stateWords, suspectWords } from "#kernel/words.ts";
import type { CheckList } from "#monitor/results/contract.ts";
import { isLeftBehind, type RolloutStatus } from "#rollout/contract.ts";
import type { Troubled } from "#worker/contract.ts";
import { oldListMs, type StatusView, statusReads, type Wrong } from "./contract.ts";

type Fleet = StatusView["fleets"][number];

/** Decides what of a status is wrong, in the order in which it hurts customers. Pure. */
export function findWrong(status: Omit<StatusView, "wrong">): Wrong[] {
  const { fleets, alerts, deliveries, stuck, checks, taken_at } = status;
  const byChannel = Map.groupBy(deliveries, ({ channel }) => channel);
  return [
    ...fleets.flatMap(findDown),
    ...alerts.map(describeAlert),
    ...fleets.flatMap(findPaused),
    ...fleets.flatMap(findStillOrdered),
    ...[...byChannel].map(([channel, events]) => describeFailing(channel, events)),
    ...describeStuck(stuck),
    ...fleets.flatMap((fleet) => findOldList(fleet, taken_at)),
    ...findSilent(checks.silent ?? 0),
  ];
}

function findDown({ name, overview: { unhealthy, total, sentinels } }: Fleet): Wrong[] {
  if (unhealthy === 0) return [];
  const ids = sentinels.map(({ id }) => id);
  const text = `${unhealthy} of ${total} sentinels${ofFleet(name)} ${unhealthy === 1 ? "is" : "are"} down: ${someOf(ids, 5, unhealthy)}`;
  return [
    { about: "sentinels", fleet: name, text, next: `vedette sentinels list${fleetOption(name)}` },
  ];
}

function describeAlert(check: StatusView["alerts"][number]): Wrong {
  const { id, name, alert, reason, reaches_nobody: nobody, quiet_until } = check;
  const since = alert === null ? "" : ` since ${formatUtc(alert.opened_at)}`;
  const by = alert?.acknowledged_by ?? null;
  const changes = alert?.changes ?? [];
  const text = [
    `${name} alerts${since}${because(reason)}`,
    ...(by === null ? [] : [`acknowledged by ${cleanText(callerWords(by), 200)}`]),
    ...(quiet_until === null ? [] : ["muted"]),
    ...(changes.length === 0 ? [] : [`changed before: ${suspectWords(changes)}`]),
    ...(nobody === undefined ? [] : [`nobody is notified (${nobody})`]),
  ].join("; ");
  return { about: "alert", check: id, text, next: `vedette checks history ${id}` };
}

function findPaused({ name, rollout }: Fleet): Wrong[] {
  if (rollout.state !== "paused") return [];
  const { image, standing = [], current_wave, total_waves } = rollout;
  const now = standing.map(({ text }) => text.replace(/\.$/, "")).join("; ");
  const text = `the rollout of ${shortenImage(image ?? "")}${ofFleet(name)} is ${stateWords(rollout)} in wave ${current_wave} of ${total_waves}: ${now}`;
  return [
    { about: "rollout", fleet: name, text, next: `vedette rollout status${fleetOption(name)}` },
  ];
}

/** Failed sentinels of a rollout that is over: nothing brings them back by itself. */
function findStillOrdered({ name, rollout }: Fleet): Wrong[] {
  const { state, failed, failed_sentinels: named, image, standing = [] } = rollout;
  if (failed === 0 || (state !== "cancelled" && state !== "completed")) return [];
  const ids = named.map(({ id }) => id);
  const left = standing.flatMap((part) => (isLeftBehind(part) ? [`; ${part.brief}`] : [])).join("");
  const who = `${failed} ${failed === 1 ? "sentinel" : "sentinels"}${ofFleet(name)}`;
  const text = `${who} failed and ${failed === 1 ? "is" : "are"} still ordered to run ${shortenImage(image ?? "")}: ${someOf(ids, 5, failed)}${left}`;
  const next = `vedette rollout status${fleetOption(name)}`;
  return [{ about: "rollout", fleet: name, text, next }];
}

function describeFailing(channel: string, [newest, ...others]: StatusView["deliveries"]): Wrong {
  const words = others.length === 0 ? "1 delivery" : `${others.length + 1} deliveries`;
  const text = `${words} to channel ${channel} not accepted${because(newest?.cause ?? null)}`;
  return { about: "delivery", text, next: "vedette alerts events" };
}

function describeStuck([longest, ...others]: readonly Troubled[]): Wrong[] {
  if (longest === undefined) return [];
  const words = others.length === 0 ? "1 invocation does" : `${others.length + 1} invocations do`;
  const text = `${words} not progress: ${longest.target}${because(longest.reason || "it is paused")}`;
  return [{ about: "engine", text, next: "vedette engine" }];
}

/** Then the health that is known of its sentinels is old, too: readers of `wrong` go by this. */
function findOldList({ name, overview: { list, total } }: Fleet, now: string): Wrong[] {
  const { asked_at: at, problem } = list;
  const isNew = at !== null && Date.parse(now) - Date.parse(at) <= oldListMs;
  if (problem === null && isNew) return [];
  const age = at === null ? "was never read" : `is ${formatSpan(at, now)} old`;
  const unknown = total === 0 ? "" : `; the health of its ${total} sentinels is not known`;
  const text = `the list of the fleet${name === defaultFleet ? "" : ` ${name}`} ${age}${because(problem)}${unknown}`;
  return [{ about: "fleet_list", fleet: name, text, next: "vedette doctor" }];
}

function findSilent(count: number): Wrong[] {
  if (count === 0) return [];
  const text = `the monitor does not run ${count === 1 ? "1 check" : `${count} checks`}`;
  return [{ about: "checks", text, next: "vedette checks list" }];
}

function ofFleet(name: string): string {
  return name === defaultFleet ? "" : ` of fleet ${name}`;
}

/** A reason quotes other programs. */
function because(reason: string | null): string {
  return reason === null ? "" : `: ${cleanText(reason, 300)}`;
}

type Parts = {
  /** The names of the fleets, the default one first. */
  fleets: readonly string[];
  readRollout: (ctx: Context, fleet: string) => Promise<RolloutStatus>;
  readFleet: (fleet: string, search: FleetSearch) => Promise<FleetOverview>;
  readChecks: () => Promise<CheckList>;
  listEvents: (request: AlertEventListRequest) => Promise<AlertEventList>;
  listTroubled: () => Promise<readonly Troubled[]>;
  nowMs: () => number;
};

const limits = { limitMs: 10_000, problem: "the status cannot be read" };
const status = databaseRead("read-status", limits);
/** An admin API that cannot be asked hides nothing else. */
const engineLimits = { limitMs: 2_000, otherwise: [] };

/** Fewer attempts are a slow peer, or a deployment that is changing. */
const isStuck = (one: Troubled) => one.status === "paused" || one.attempts >= 10;

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
    stuck: (await inTime(parts.listTroubled, engineLimits)).filter(isStuck),
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
