/** Checks the rows against each other. Pure. */
import type { CheckRow } from "#definitions/rows/check.ts";
import {
  type DefinitionSet,
  keyOf,
  type Section,
  sectionNames,
} from "#definitions/rows/contract.ts";
import type { ChannelRow } from "#definitions/rows/fields.ts";
import { catchMisdirected, findPlaceholders, MisdirectedSecret } from "#kernel/secrets.ts";
import { createHint } from "#kernel/text.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";
import { mostGates } from "#rollout/gates/contract.ts";
import { findCircles, longestWay, type Row } from "./circles.ts";

/** A fault of a row. */
export type Finding = {
  section: Section;
  /** The id or name of the row. */
  key: string;
  /** The way to the field, from the row. */
  field?: (string | number)[];
  /** The allowed values; no value of a header or body, which may be secret. */
  message: string;
};

// Checks the dependencies of rows. Pure.

type Hint = ReturnType<typeof createHint>;

/** Unknown ids, ids that are named twice, and circles. */
export function lintDependencies(
  { checks, heartbeats }: DefinitionSet,
  hint = createHint(),
): Finding[] {
  const rows: readonly Row[] = [...checks, ...heartbeats];
  const byId = new Map(rows.map((row) => [row.id, row]));
  const inCircles = findCircles(byId);
  const lint = (section: Finding["section"], list: readonly Row[]) =>
    list.flatMap((row) => lintRow(section, row, { byId, circle: inCircles.get(row.id), hint }));
  return [...lint("checks", checks), ...lint("heartbeats", heartbeats)];
}

type Place = {
  byId: ReadonlyMap<string, Row>;
  circle: readonly string[] | undefined;
  hint: Hint;
};

function lintRow(section: Finding["section"], row: Row, { byId, circle, hint }: Place): Finding[] {
  const { id: key, dependsOn } = row;
  const faults = dependsOn.flatMap((id, index): Finding[] => {
    const at = { section, key, field: ["dependsOn", index] };
    if (id === key) return [{ ...at, message: "is the row itself: name others" }];
    if (!byId.has(id)) {
      const message = `there is no such check or heartbeat${hint(id, [...byId.values()])}`;
      return [{ ...at, message }];
    }
    return dependsOn.indexOf(id) === index ? [] : [{ ...at, message: "is named twice" }];
  });
  if (circle === undefined) return faults;
  const way = [...circle, key].slice(0, longestWay).join(", then ");
  const message = `depends on itself: ${way}. Leave out one of them`;
  return [...faults, { section, key, field: ["dependsOn"], message }];
}

/** Empty: all is well. Rows are valid by themselves. */
export function lintSet(set: DefinitionSet): Finding[] {
  const known = { set, hint: createHint() };
  return [
    ...lintKeys(set),
    ...sectionNames.flatMap((section) => lintTexts(section, set[section])),
    ...set.checks.flatMap((row) => lintChannels(row, { section: "checks", ...known })),
    ...set.heartbeats.flatMap((row) => lintChannels(row, { section: "heartbeats", ...known })),
    ...set.drills.flatMap((row) => lintChannels(row, { section: "drills", ...known })),
    ...set.drills.flatMap(({ alert = [], ...row }) =>
      lintChannels({ ...row, channels: alert }, { section: "drills", field: "alert", ...known }),
    ),
    ...lintDependencies(set, known.hint),
    ...set.checks.flatMap((row) => lintLocations(row, known)),
    ...set.checks.flatMap(findPlaceholderFaults),
    ...set.gates.flatMap((row) => lintGate(row, known)),
    ...lintDefaultGates(set),
    ...set.routes.flatMap((row) => lintRoute(row, known)),
  ];
}

/** Alerts, addresses and results know checks, heartbeats and drills by their id alone. */
function lintKeys(set: DefinitionSet): Finding[] {
  const checks = new Set(set.checks.map(({ id }) => id));
  const heartbeats = new Set(set.heartbeats.map(({ id }) => id));
  const twice = sectionNames.flatMap((section) =>
    duplicates(set[section].map((row) => keyOf(section, row))).map((key) => ({
      section,
      key,
      message: "is there twice",
    })),
  );
  const shared = set.heartbeats
    .filter(({ id }) => checks.has(id))
    .map(({ id }) => ({
      section: "heartbeats" as const,
      key: id,
      message: "there is a check of this id: a check and a heartbeat have different ones",
    }));
  const ofDrills = set.drills
    .filter(({ id }) => checks.has(id) || heartbeats.has(id))
    .map(({ id }) => ({
      section: "drills" as const,
      key: id,
      message: "there is a check or heartbeat of this id: a drill has another one",
    }));
  return [...twice, ...shared, ...ofDrills];
}

/** A write that the database refuses would be tried for ever. */
function lintTexts(section: Section, rows: readonly object[]): Finding[] {
  return rows.flatMap((row) => {
    // It is shown.
    const key = keyOf(section, row).replaceAll("\0", "").toWellFormed();
    return findUnstorable(row).map((found) => ({ section, key, ...found }));
  });
}

type ChannelUse = { id: string; environment: ChannelEnvironment; channels: readonly string[] };
type ChannelEnvironment = CheckRow["environment"];
type Known = { set: DefinitionSet; hint: Hint };
type Where = Known & { section: Section; field?: string };

function lintChannels(
  { id, environment, channels: named }: ChannelUse,
  { section, field = "channels", set: { channels }, hint }: Where,
): Finding[] {
  const rows = named.map((name) => channels.find((row) => row.id === name));
  const firstIncident = rows.findIndex((row) => row?.kind === "incident");
  return named.flatMap((name, index) => {
    const channel = rows[index];
    const fault = (message: string) => [{ section, key: id, field: [field, index], message }];
    if (channel === undefined)
      return fault(`there is no such channel${hint(name, channels) || ": there are none"}`);
    if (named.indexOf(name) !== index) return fault("is named twice");
    if (channel.kind !== "incident") return [];
    if (channel.environment !== environment) {
      return fault(`is the channel of ${channel.environment}, and the row is of ${environment}`);
    }
    if (index === firstIncident) return [];
    return fault(`goes to the same alert source as ${named[firstIncident]}: name one of them`);
  });
}

function lintLocations({ id, locations = [] }: CheckRow, { set, hint }: Known): Finding[] {
  const own = set.locations.map((row) => row.id);
  return locations.flatMap((location, index) => {
    const at = { section: "checks" as const, key: id, field: ["locations", index] };
    const isKnown = own.includes(location) || hostedLocations.includes(location);
    if (!isKnown) {
      const message = `there is no such location${hint(location, [...own, ...hostedLocations])}`;
      return [{ ...at, message }];
    }
    return locations.indexOf(location) === index ? [] : [{ ...at, message: "is named twice" }];
  });
}

/** A gate that could never open would keep each rollout from starting. */
function lintGate(
  row: DefinitionSet["gates"][number],
  { set: { checks, channels }, hint }: Known,
): Finding[] {
  const at = { section: "gates" as const, key: row.id };
  if (row.kind === "checks") {
    return row.checks.flatMap((id, index) => {
      if (checks.some((check) => check.id === id)) return [];
      return [
        { ...at, field: ["checks", index], message: `there is no such check${hint(id, checks)}` },
      ];
    });
  }
  const webhooks = channels.filter(({ kind }) => kind === "webhook");
  if (row.kind !== "webhook" || webhooks.some(({ id }) => id === row.channel)) return [];
  const near = hint(row.channel, webhooks) || ": there are none";
  const message = `there is no such channel of the kind webhook${near}`;
  return [{ ...at, field: ["channel"], message }];
}

function lintDefaultGates({ gates }: DefinitionSet): Finding[] {
  const message = `a rollout has ${mostGates} gates at most, and more are default`;
  const surplus = gates.filter((row) => row.default).slice(mostGates);
  return surplus.map(({ id }) => ({ section: "gates", key: id, field: ["default"], message }));
}

function findPlaceholderFaults(row: CheckRow): Finding[] {
  const found: Finding[] = [];
  const complain = (field: (string | number)[], message: string) =>
    found.push({ section: "checks", key: row.id, field, message });
  kindOf(row).lintPlaceholders(row, complain);
  for (const { name, field } of findPlaceholders(row)) {
    const place = (field[0] === "steps" ? field.slice(2) : field).join(".");
    if (storedByApi.test(`${name} ${place}`))
      complain(field, `{{${name}}} would be stored there: of a body it may only be the \`key\``);
  }
  return found;
}

/** The API keeps the rest of a body, such as an `identifier`, and who has called it. */
const storedByApi = /^(?:ROOT_)?KEY (?:body\.(?!key$)|headers\.user-agent$)/i;

function lintRoute(
  route: DefinitionSet["routes"][number],
  { set: { sources }, hint }: Known,
): Finding[] {
  const { name, sources: taken, activeTimes, inhibitedBy } = route;
  const at = { section: "routes" as const, key: name };
  const held = [activeTimes && "activeTimes", inhibitedBy && "inhibitedBy"].filter((one) => one);
  const inhibiting = (inhibitedBy ?? []).flatMap(({ conditions }, index) =>
    conditions.map(({ label }, position) => ({
      label,
      field: ["inhibitedBy", index, "conditions", position, "label"],
    })),
  );
  return taken.flatMap(({ source, conditions }, index): Finding[] => {
    const found = sources.find((row) => row.name === source);
    if (found === undefined) {
      const message = `there is no such source${hint(source, sources)}`;
      return [{ ...at, field: ["sources", index, "source"], message }];
    }
    const { labels, kind } = found;
    if (held.length > 0 && kind !== "alertmanager") {
      const message = `is of the kind ${kind}: only Alertmanager keeps to ${held.join(" and ")}`;
      return [{ ...at, field: ["sources", index, "source"], message }];
    }
    const named = conditions.map(({ label }, position) => ({
      label,
      field: ["sources", index, "conditions", position, "label"],
    }));
    return [...named, ...inhibiting].flatMap(({ label, field }) => {
      if (Object.hasOwn(labels, label)) return [];
      const near = hint(label, Object.keys(labels)) || ": it has none";
      return [{ ...at, field, message: `${source} has no such label${near}` }];
    });
  });
}

function duplicates(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}

/** The secret of the row that `build` would send to where it does not belong, at the field that has it. */
export function locateSecret(
  section: "channels" | "checks",
  row: ChannelRow | CheckRow,
  build: () => unknown,
): Finding[] {
  const found = catchMisdirected(build);
  if (!(found instanceof MisdirectedSecret)) return [];
  const places = findPlaceholders(row).filter(
    ({ field: [part, index] }) => part !== "steps" || index === found.step,
  );
  const named = places.find(({ name }) => name === found.secret);
  // Else it is in what an earlier step takes.
  const { field = [] } = named ?? places.find(({ name }) => /^[a-z]/.test(name)) ?? {};
  return [{ section, key: row.id, field, message: found.message }];
}

/** Finds what the database refuses to store, or what would fill the stack of who reads it. Pure. */
type Unstorable = {
  /** The way to the value that is not storable, or has such a name in it. */
  field: (string | number)[];
  message: string;
};

const deepest = 50;

export function findUnstorable(value: unknown, field: (string | number)[] = []): Unstorable[] {
  if (field.length > deepest) return [{ field, message: tooDeep }];
  if (typeof value === "string") return isStorable(value) ? [] : [{ field, message: unstorable }];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) {
    return value.flatMap((entry, index) => findUnstorable(entry, [...field, index]));
  }
  return Object.entries(value).flatMap(([key, entry]) =>
    isStorable(key)
      ? findUnstorable(entry, [...field, key])
      : [{ field, message: `has a name that ${unstorable}` }],
  );
}

/** Postgres takes neither in a text of JSON. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

const unstorable = "has a NUL character or half a character, which cannot be stored";
const tooDeep = `is nested deeper than ${deepest}`;
