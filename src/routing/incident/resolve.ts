/** Finds the ids of all names in the rows. */
import type { AlertRoute, AlertSource } from "#routing/contract.ts";
import type { Ids } from "./declared.ts";
import type { ConfiguredIds } from "./ids-file.ts";
import type { NamedId } from "./service.ts";

/** The names and ids that the incident service lists. */
export type Directory = {
  sources: readonly NamedId[];
  attributes: readonly (NamedId & { type?: string })[];
  escalationPaths: readonly NamedId[];
};

export type Rows = { routes: readonly AlertRoute[]; sources: readonly AlertSource[] };

export type ResolvedRows = {
  ids: Ids;
  /** The name of each id, for people. */
  names: Record<string, string>;
  /** One line per name that has no id, or more than one. Unless empty, `ids` must not be used. */
  faults: string[];
};

export function resolveIds(rows: Rows, given: ConfiguredIds, directory: Directory): ResolvedRows {
  const faults: string[] = [];
  const find = (wanted: string, search: Search): [string, string][] => {
    const { kind, known, title = wanted, list = [] } = search;
    const id = Object.hasOwn(known, wanted) ? known[wanted] : undefined;
    if (id !== undefined) return [[wanted, id]];
    const found = findNamed(list, title);
    if (found.length === 1) return found.map((item) => [wanted, item.id]);
    const state =
      found.length === 0 ? "not known" : `ambiguous (${found.map((item) => item.id).join(", ")})`;
    const where =
      search.list === undefined ? "" : `name one "${title}" at the incident service, or `;
    faults.push(`${kind} ${wanted} is ${state}: ${where}give its id in incident.ids_file`);
    return [];
  };
  const { names, labels, escalations, channels } = collectNames(rows);
  const titleOf = (name: string) => rows.sources.find((source) => source.name === name)?.title;
  const search = {
    sources: { kind: "source", known: given.sources, list: directory.sources },
    attributes: { kind: "attribute", known: given.attributes, list: directory.attributes },
    escalations: {
      kind: "escalation path",
      known: given.escalation_paths,
      list: directory.escalationPaths,
    },
    channels: { kind: "channel", known: given.channels },
  };
  const ids: Ids = {
    sources: new Map(
      names.flatMap((name) => find(name, { ...search.sources, title: titleOf(name) ?? name })),
    ),
    attributes: new Map(labels.flatMap((label) => find(label, search.attributes))),
    types: new Map(directory.attributes.map(({ id, type = "" }) => [id, type])),
    escalations: new Map(escalations.flatMap((name) => find(name, search.escalations))),
    channels: new Map(channels.flatMap((name) => find(name, search.channels))),
    operations: given.operations,
  };
  faults.push(...findShared(search.sources, ids.sources));
  faults.push(...findShared(search.attributes, ids.attributes));
  return { ids, names: nameIds(ids), faults };
}

/** Names that the service does not tell apart: they differ by case alone. */
function findShared({ kind, known }: Search, found: ReadonlyMap<string, string>): string[] {
  const searched = [...found].filter(([name]) => !Object.hasOwn(known, name));
  return [...Map.groupBy(searched, ([, id]) => id)].flatMap(([id, pairs]) => {
    const names = pairs.map(([name]) => name).join(" and ");
    const advice = "give their ids in incident.ids_file";
    return pairs.length < 2 ? [] : [`${kind}s ${names} are one at the service (${id}): ${advice}`];
  });
}

type Search = {
  kind: string;
  known: Readonly<Record<string, string>>;
  title?: string;
  /** Absent: the service has no list of them. */
  list?: readonly NamedId[];
};

/** Finds an entry by name; when there is no exact match, regardless of case. */
function findNamed(list: readonly NamedId[], name: string): readonly NamedId[] {
  const exact = list.filter((item) => item.name === name);
  if (exact.length > 0) return exact;
  return list.filter((item) => item.name.toLowerCase() === name.toLowerCase());
}

function collectNames({ routes }: Rows) {
  const entries = routes.flatMap(({ sources }) => sources);
  const conditions = entries.flatMap((entry) => entry.conditions);
  return {
    names: unique(entries.map(({ source }) => source)),
    labels: unique(conditions.map(({ label }) => label)),
    escalations: unique(routes.flatMap(({ escalation }) => escalation ?? [])),
    channels: unique(routes.map(({ channel }) => channel)),
  };
}

function nameIds({ sources, attributes, escalations, channels }: Ids): Record<string, string> {
  const all = [sources, attributes, escalations, channels].flatMap((ids) => [...ids]);
  return Object.fromEntries(all.map(([name, id]) => [id, name]));
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
