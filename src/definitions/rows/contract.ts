/** The rows of the definitions, as a file has them: what may be left out gets its default here. */
import { z } from "zod";
import { GateRow } from "#rollout/gates/contract.ts";
import { AlertRoute, AlertSource } from "#routing/contract.ts";
import { CheckRow } from "./check.ts";
import { ChannelRow, DrillRow, Id, Name } from "./fields.ts";
import { HeartbeatRow } from "./heartbeat.ts";

/** A location of your own, at which `vedette monitor-runner` runs. */
const LocationRow = z
  .strictObject({ id: Id.max(40), name: Name })
  .transform(({ id, name = id }) => ({ id, name }));
type LocationRow = z.output<typeof LocationRow>;

/** The sections of the definitions: the schema of their rows, and the field by which a row is known. */
export const sections = {
  locations: { row: LocationRow, key: "id", most: 1_000 },
  channels: { row: ChannelRow, key: "id", most: 1_000 },
  checks: { row: CheckRow, key: "id", most: 10_000 },
  heartbeats: { row: HeartbeatRow, key: "id", most: 10_000 },
  drills: { row: DrillRow, key: "id", most: 1_000 },
  gates: { row: GateRow, key: "id", most: 100 },
  sources: { row: AlertSource, key: "name", most: 1_000 },
  routes: { row: AlertRoute, key: "name", most: 1_000 },
} as const;
export type Section = keyof typeof sections;
export const sectionNames = Object.keys(sections) as Section[];

export type DefinitionSet = {
  locations: readonly LocationRow[];
  channels: readonly ChannelRow[];
  checks: readonly CheckRow[];
  heartbeats: readonly HeartbeatRow[];
  drills: readonly DrillRow[];
  gates: readonly GateRow[];
  sources: readonly AlertSource[];
  routes: readonly AlertRoute[];
};

export const emptySet: DefinitionSet = {
  locations: [],
  channels: [],
  checks: [],
  heartbeats: [],
  drills: [],
  gates: [],
  sources: [],
  routes: [],
};

/** The id or name by which a row is known within its section. */
export function keyOf(section: Section, row: object): string {
  return String((row as Record<string, unknown>)[sections[section].key]);
}
