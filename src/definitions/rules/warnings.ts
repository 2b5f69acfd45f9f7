/** What is doubtful about definitions, although they are valid. Pure. */
import type { Environment } from "#alerts/contract.ts";
import type { Warning } from "#definitions/contract.ts";
import type { IncidentRow } from "#definitions/rows/channel.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";

type Known = {
  /** Whether the settings name the alert source to which events of an environment are posted. */
  hasSource: (environment: Environment) => boolean;
  /** The heartbeats that have a ping URL. */
  registered: ReadonlySet<string>;
};

/** Checks and heartbeats whose failure nobody is told of, and heartbeats that nobody can ping. */
export function warnOfChecks(
  { checks, heartbeats, channels }: DefinitionSet,
  { hasSource, registered }: Known,
): Warning[] {
  const silent = channels.filter(
    (row): row is IncidentRow => row.kind === "incident" && !hasSource(row.environment),
  );
  const unregistered = heartbeats.filter(({ id }) => !registered.has(id));
  return [
    ...checks.flatMap((row) => warnOfChannels("checks", row, silent)),
    ...heartbeats.flatMap((row) => warnOfChannels("heartbeats", row, silent)),
    ...unregistered.map(({ id }) => ({
      section: "heartbeats" as const,
      key: id,
      message: `has no ping URL: \`vedette heartbeats register ${id}\` makes it`,
    })),
  ];
}

type Notifying = { id: string; channels: readonly string[] };

function warnOfChannels(
  section: "checks" | "heartbeats",
  { id, channels }: Notifying,
  silent: readonly IncidentRow[],
): Warning[] {
  if (channels.length === 0) {
    return [{ section, key: id, message: "alerts nobody: it has no channel" }];
  }
  return silent
    .filter((channel) => channels.includes(channel.id))
    .map(({ id: channel, environment }) => ({
      section,
      key: id,
      message: `alerts nobody: channel ${channel} needs incident.url and alerts.${environment}.source_id`,
    }));
}
