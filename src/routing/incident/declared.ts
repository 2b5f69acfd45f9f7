/** Converts a row of `routes.ts` to the content that is written to the incident service. */
import type { AlertRoute, Condition } from "#routing/contract.ts";
import type { Content, Json, RoutePlan } from "#routing/incident/contract.ts";

export type Ids = {
  /** Ids by the name of a row of `sources`. */
  sources: ReadonlyMap<string, string>;
  /** Attributes, by the label that they hold. */
  attributes: ReadonlyMap<string, string>;
  /** The types of attributes, by their ids, such as `String` and `CatalogEntry["Team"]`. */
  types: ReadonlyMap<string, string>;
  escalations: ReadonlyMap<string, string>;
  channels: ReadonlyMap<string, string>;
  /** The service's names of operations. */
  operations: Readonly<Record<Condition["operation"], string>>;
};

/** The members that Vedette manages. Other effects of an alert than pages and messages are not managed. */
export function declareRoute(route: AlertRoute, ids: Ids): Content {
  return {
    name: route.name,
    enabled: true,
    is_private: false,
    condition_groups: [],
    alert_sources: declareSources(route, ids),
    escalation_config: { escalation_targets: declareEscalation(route, ids) },
    incident_config: { enabled: false },
    channel_config: [
      {
        condition_groups: [],
        slack_targets: {
          binding: listOf([findId(ids.channels, route.channel)]),
          channel_visibility: "public",
        },
      },
    ],
  };
}

/** Initial values of a new route that Vedette does not manage: people may change them afterwards. */
export const newRoute: Content = {
  expressions: [],
  escalation_config: { auto_cancel_escalations: true },
  incident_config: {
    auto_decline_enabled: false,
    condition_groups: [],
    defer_time_seconds: 0,
    grouping_keys: [],
    grouping_window_seconds: 0,
  },
  incident_template: { name: { binding: { value: { reference: "alert.title" } } } },
};

/** A source with several entries takes every alert that matches any of them. */
function declareSources(route: AlertRoute, ids: Ids): Json[] {
  const names = [...new Set(route.sources.map(({ source }) => source))];
  return names.map((name) => {
    const groups = route.sources.filter(({ source }) => source === name);
    const takesAll = groups.some(({ conditions }) => conditions.length === 0);
    return {
      alert_source_id: findId(ids.sources, name),
      condition_groups: takesAll
        ? []
        : groups.map(({ conditions }) => ({
            conditions: conditions.map((condition) => declareCondition(condition, ids)),
          })),
    };
  });
}

function declareCondition(condition: Condition, ids: Ids): Json {
  return {
    subject: subjectOf(findId(ids.attributes, condition.label)),
    operation: ids.operations[condition.operation],
    param_bindings: "values" in condition ? [listOf(condition.values)] : [],
  };
}

const namesOnText = ["one_of", "contains_one_of"];

/** The service takes these for one, and reads the first back as the second (engine.go of its Terraform provider). */
const aliasesOfType = new Map([
  ["String", namesOnText],
  ["Link", namesOnText],
  ["TemplatedText", namesOnText],
  ["CatalogEntry", ["contains", "name_contains"]],
]);

export function findAliases(route: AlertRoute, ids: Ids): RoutePlan["aliases"] {
  const labels = route.sources.flatMap(({ conditions }) => conditions.map(({ label }) => label));
  const aliases = labels.flatMap((label) => {
    const id = findId(ids.attributes, label);
    const type = ids.types.get(id)?.split("[")[0] ?? "";
    const names = aliasesOfType.get(type);
    return names === undefined ? [] : [[subjectOf(id), names] as const];
  });
  return Object.fromEntries(aliases);
}

function subjectOf(attributeId: string): string {
  return `alert.attributes.${attributeId}`;
}

/** The path alone, without users: a user who was added by hand shows up as a difference. */
function declareEscalation({ escalation }: AlertRoute, ids: Ids): Json[] {
  if (escalation === null) return [];
  const path = listOf([findId(ids.escalations, escalation)]);
  return [{ escalation_paths: path, users: { array_value: [] } }];
}

function listOf(literals: readonly string[]): Content {
  return { array_value: literals.map((literal) => ({ literal })) };
}

function findId(ids: ReadonlyMap<string, string>, name: string): string {
  const id = ids.get(name);
  // Names are resolved, and missing ones reported, before this is called.
  if (id === undefined) throw new Error(`no id for ${name}`);
  return id;
}
