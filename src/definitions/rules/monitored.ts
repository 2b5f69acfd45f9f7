/** The rows as the monitor takes them. */
import type { Environment } from "#alerts/contract.ts";
import type {
  ChannelRow,
  CheckRow,
  DefinitionSet,
  HeartbeatRow,
} from "#definitions/rows/contract.ts";
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/contract.ts";

export function toMonitored({ channels, checks, heartbeats }: DefinitionSet): Definitions {
  const environments = new Map(channels.map(({ id, environment }) => [id, environment]));
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
function toHostedChannel({ environment: name, hostedId: id }: ChannelRow): Definitions["channels"] {
  if (id === undefined) return [];
  return [{ name, id, sendFailure: true, sendRecovery: true, sendDegraded: false }];
}
