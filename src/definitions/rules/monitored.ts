/** The rows as the monitor takes them. */
import type { ChannelRow } from "#definitions/rows/channel.ts";
import type { CheckRow } from "#definitions/rows/check.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import type { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { toKind } from "./kinds.ts";

type Notified = Pick<ApiCheck, "channel" | "directChannels">;

export function toMonitored({ channels, checks, heartbeats }: DefinitionSet): Definitions {
  const rows = new Map(channels.map((row) => [row.id, row]));
  const notifiedBy = ({ channels: ids }: CheckRow | HeartbeatRow) =>
    toNotified(ids.flatMap((id) => rows.get(id) ?? []));
  return {
    apiChecks: checks.map((row) => toApiCheck(row, notifiedBy(row))),
    heartbeats: heartbeats.map((row) => toHeartbeat(row, notifiedBy(row))),
    channels: channels.flatMap(toHostedChannel),
  };
}

function toNotified(channels: readonly ChannelRow[]): Notified {
  const incident = channels.find((row) => row.kind === "incident");
  const directChannels = channels.filter((row) => row.kind !== "incident");
  return {
    channel: incident?.environment ?? null,
    ...(directChannels.length > 0 && { directChannels }),
  };
}

function toApiCheck(row: CheckRow, notified: Notified): ApiCheck {
  const { id, name, environment, frequencySeconds, failedRunThreshold } = row;
  const { degradedAboveMs, failedAboveMs, locations = hostedLocations } = row;
  return {
    ...{ id, name, environment, frequencySeconds, failedRunThreshold },
    ...{ degradedAboveMs, failedAboveMs, locations: [...locations] },
    ...notified,
    ...toKind(row),
  };
}

function toHeartbeat(
  { channels: _, cron, timezone = "UTC", earlySeconds, ...same }: HeartbeatRow,
  notified: Notified,
): Heartbeat {
  if (cron === undefined) return { ...same, ...notified };
  const schedule = { cron, timezone, ...(earlySeconds !== undefined && { earlySeconds }) };
  return { ...same, schedule, ...notified };
}

/** A channel that the hosted monitor knows; it is told failures and recoveries, as ours are. */
function toHostedChannel(row: ChannelRow): Definitions["channels"] {
  if (row.kind !== "incident" || row.hostedId === undefined) return [];
  const { environment: name, hostedId: id } = row;
  return [{ name, id, sendFailure: true, sendRecovery: true, sendDegraded: false }];
}
