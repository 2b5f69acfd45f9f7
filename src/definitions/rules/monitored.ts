/** The rows as the monitor takes them. */
import type { Environment } from "#alerts/contract.ts";
import type { ChannelRow } from "#definitions/rows/channel.ts";
import type { CheckRow } from "#definitions/rows/check.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import type { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/contract.ts";

export function toMonitored({ channels, checks, heartbeats }: DefinitionSet): Definitions {
  const environments = new Map(
    channels.map((row) => [row.id, row.kind === "incident" ? row.environment : null]),
  );
  const channelOf = ({ channels: [id] }: CheckRow | HeartbeatRow): Environment | null =>
    environments.get(id ?? "") ?? null;
  return {
    apiChecks: checks.map((row) => toApiCheck(row, channelOf(row))),
    heartbeats: heartbeats.map((row) => toHeartbeat(row, channelOf(row))),
    channels: channels.flatMap(toHostedChannel),
  };
}

function toApiCheck(row: CheckRow, channel: Environment | null): ApiCheck {
  const { kind: _kind, url, path, locations = hostedLocations, channels: _channels, ...same } = row;
  return { ...same, path: url ?? path ?? "/", locations: [...locations], channel };
}

function toHeartbeat(
  { channels: _, ...same }: HeartbeatRow,
  channel: Environment | null,
): Heartbeat {
  return { ...same, channel };
}

/** A channel that the hosted monitor knows; it is told failures and recoveries, as ours are. */
function toHostedChannel(row: ChannelRow): Definitions["channels"] {
  if (row.kind !== "incident" || row.hostedId === undefined) return [];
  const { environment: name, hostedId: id } = row;
  return [{ name, id, sendFailure: true, sendRecovery: true, sendDegraded: false }];
}
