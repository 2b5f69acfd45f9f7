import type { CheckRow } from "#definitions/rows/check.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import type { ChannelRow, DrillRow } from "#definitions/rows/fields.ts";
import type { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import type { ApiCheck, CronSchedule, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";

/** The fields of a check that come from other rows. */
type Elsewhere = Pick<ApiCheck, "channel" | "directChannels" | "dependsOn">;

export function toMonitored({ channels, checks, heartbeats, drills }: DefinitionSet): Definitions {
  const rows = new Map(channels.map((row) => [row.id, row]));
  const apiIds = new Set(checks.map(({ id }) => id));
  const notified = (ids: readonly string[]) => toNotified(ids.flatMap((id) => rows.get(id) ?? []));
  const kindOf = (id: string) => (apiIds.has(id) ? "api" : "heartbeat");
  const elsewhere = ({ channels: ids, dependsOn }: CheckRow | HeartbeatRow): Elsewhere => ({
    ...notified(ids),
    ...(dependsOn.length > 0 && { dependsOn: dependsOn.map((id) => ({ id, kind: kindOf(id) })) }),
  });
  return {
    apiChecks: checks.map((row) => toApiCheck(row, elsewhere(row))),
    heartbeats: [
      ...heartbeats.map((row) => toHeartbeat(row, elsewhere(row))),
      ...drills.map((row) => toDrill(row, notified)),
    ],
    channels: channels.flatMap(toHostedChannel),
  };
}

type Recipients = Pick<ApiCheck, "channel" | "directChannels">;

function toNotified(channels: readonly ChannelRow[]): Recipients {
  const incident = channels.find((row) => row.kind === "incident");
  const directChannels = channels.filter((row) => row.kind !== "incident");
  return {
    channel: incident?.environment ?? null,
    ...(directChannels.length > 0 && { directChannels }),
  };
}

function toApiCheck(row: CheckRow, elsewhere: Elsewhere): ApiCheck {
  const { id, name, environment, frequencySeconds, failedRunThreshold } = row;
  const { degradedAboveMs, failedAboveMs, locations = hostedLocations } = row;
  return {
    ...{ id, name, environment, frequencySeconds, failedRunThreshold },
    ...{ degradedAboveMs, failedAboveMs, locations: [...locations] },
    ...elsewhere,
    ...kindOf(row).toCheck(row),
  };
}

function toHeartbeat(row: HeartbeatRow, elsewhere: Elsewhere): Heartbeat {
  const { channels: _channels, dependsOn: _dependsOn, ...rest } = row;
  const { cron, timezone, cronDialect, earlySeconds, ...same } = rest;
  if (cron === undefined) return { ...same, ...elsewhere };
  const early = earlySeconds !== undefined && { earlySeconds };
  const schedule = { ...toSchedule({ cron, timezone, cronDialect }), ...early };
  return { ...same, schedule, ...elsewhere };
}

function toSchedule(row: Pick<DrillRow, "cron" | "timezone" | "cronDialect">): CronSchedule {
  const { cron, timezone = "UTC", cronDialect: dialect } = row;
  return { cron, timezone, ...(dialect === "kubernetes" && { dialect }) };
}

/** By then the drill has found out by itself that it failed, and says more than that no ping came. */
const marginSeconds = 60;

/** A drill is a heartbeat that pings by itself. */
function toDrill(row: DrillRow, notified: (ids: readonly string[]) => Recipients): Heartbeat {
  const { id, name, environment, graceSeconds } = row;
  const { channels, alert = channels } = row;
  return {
    ...{ id, name, environment, schedule: toSchedule(row) },
    watches: `that a test alert arrives at ${channels.join(", ")}`,
    graceSeconds: graceSeconds + marginSeconds,
    drill: { graceSeconds, ...notified(channels) },
    ...notified(alert),
  };
}

/** A channel that the hosted monitor knows; it is told failures and recoveries, as ours are. */
function toHostedChannel(row: ChannelRow): Definitions["channels"] {
  if (row.kind !== "incident" || row.hostedId === undefined) return [];
  const { environment: name, hostedId: id } = row;
  return [{ name, id, sendFailure: true, sendRecovery: true, sendDegraded: false }];
}
