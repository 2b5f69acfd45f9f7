/** The rows as the monitor takes them. */
import type { ChannelRow } from "#definitions/rows/channel.ts";
import type { CheckRow } from "#definitions/rows/check.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import type { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { toKind } from "./kinds.ts";

/** What other rows say about it. */
type Elsewhere = Pick<ApiCheck, "channel" | "directChannels" | "dependsOn">;

export function toMonitored({ channels, checks, heartbeats }: DefinitionSet): Definitions {
  const rows = new Map(channels.map((row) => [row.id, row]));
  const apiIds = new Set(checks.map(({ id }) => id));
  const kindOf = (id: string) => (apiIds.has(id) ? "api" : "heartbeat");
  const elsewhere = ({ channels: ids, dependsOn }: CheckRow | HeartbeatRow): Elsewhere => ({
    ...toNotified(ids.flatMap((id) => rows.get(id) ?? [])),
    ...(dependsOn.length > 0 && { dependsOn: dependsOn.map((id) => ({ id, kind: kindOf(id) })) }),
  });
  return {
    apiChecks: checks.map((row) => toApiCheck(row, elsewhere(row))),
    heartbeats: heartbeats.map((row) => toHeartbeat(row, elsewhere(row))),
    channels: channels.flatMap(toHostedChannel),
  };
}

function toNotified(channels: readonly ChannelRow[]): Pick<ApiCheck, "channel" | "directChannels"> {
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
    ...toKind(row),
  };
}

function toHeartbeat(row: HeartbeatRow, elsewhere: Elsewhere): Heartbeat {
  const { channels: _channels, dependsOn: _dependsOn, ...rest } = row;
  const { cron, timezone = "UTC", earlySeconds, ...same } = rest;
  if (cron === undefined) return { ...same, ...elsewhere };
  const schedule = { cron, timezone, ...(earlySeconds !== undefined && { earlySeconds }) };
  return { ...same, schedule, ...elsewhere };
}

/** A channel that the hosted monitor knows; it is told failures and recoveries, as ours are. */
function toHostedChannel(row: ChannelRow): Definitions["channels"] {
  if (row.kind !== "incident" || row.hostedId === undefined) return [];
  const { environment: name, hostedId: id } = row;
  return [{ name, id, sendFailure: true, sendRecovery: true, sendDegraded: false }];
}
