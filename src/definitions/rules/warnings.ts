/** Finds doubts about definitions that are valid. Pure. */
import type { Environment } from "#alerts/contract.ts";
import type { Warning } from "#definitions/contract.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import type { ChannelRow } from "#definitions/rows/fields.ts";
import { findPlaceholders } from "#kernel/secrets.ts";

type Known = {
  /** True if the settings name the alert source to which events of an environment are posted. */
  hasSource: (environment: Environment) => boolean;
  hasSecret: (name: string) => boolean;
  /** The heartbeats that have a ping URL. */
  registered: ReadonlySet<string>;
};

/** Checks, heartbeats and drills whose failure nobody is told of, and heartbeats that nobody can ping. */
export function warnOfChecks(
  { checks, heartbeats, drills, channels }: DefinitionSet,
  { registered, ...known }: Known,
): Warning[] {
  const needs = new Map(channels.map((row) => [row.id, whatItNeeds(row, known)]));
  const unregistered = heartbeats.filter(({ id, job }) => job === undefined && !registered.has(id));
  return [
    ...checks.flatMap((row) => warnOfChannels("checks", row, needs)),
    ...heartbeats.flatMap((row) => warnOfChannels("heartbeats", row, needs)),
    ...drills.flatMap(({ id, channels: tested, alert = [] }) =>
      warnOfChannels("drills", { id, channels: [...new Set([...tested, ...alert])] }, needs),
    ),
    ...unregistered.map(({ id }) => ({
      section: "heartbeats" as const,
      key: id,
      message: `has no ping URL: \`vedette heartbeats register ${id}\` makes it`,
    })),
  ];
}

/** The settings without which nothing can be sent to a channel; empty: it can. */
export function whatItNeeds(
  row: ChannelRow,
  { hasSource, hasSecret }: Omit<Known, "registered">,
): string[] {
  if (row.kind === "incident") {
    return hasSource(row.environment)
      ? []
      : ["incident.url", `alerts.${row.environment}.source_id`];
  }
  return [...new Set(findPlaceholders(row).map(({ name }) => name))]
    .filter((name) => !hasSecret(name))
    .map((name) => `VEDETTE_SECRET_${name}`);
}

type Source = { id: string; channels: readonly string[] };

function warnOfChannels(
  section: "checks" | "heartbeats" | "drills",
  { id, channels }: Source,
  needs: ReadonlyMap<string, readonly string[]>,
): Warning[] {
  if (channels.length === 0) {
    return [{ section, key: id, message: "alerts nobody: it has no channel" }];
  }
  const unable = channels.filter((channel) => (needs.get(channel) ?? []).length > 0);
  const isSilent = unable.length === channels.length;
  return unable.map((channel) => {
    const wanted = `channel ${channel} needs ${(needs.get(channel) ?? []).join(" and ")}`;
    return { section, key: id, message: isSilent ? `alerts nobody: ${wanted}` : wanted };
  });
}
