/** A row of `routes.ts` as the incident service is told of it. */
import type { AlertRoute, Condition } from "#routing/contract.ts";
import type { Content, Json } from "#routing/incident/contract.ts";

/** Names as the incident service knows them. */
export type Ids = {
  /** By the name of a row of `sources`. */
  sources: ReadonlyMap<string, string>;
  /** Attributes, by the label that they hold. */
  attributes: ReadonlyMap<string, string>;
  escalations: ReadonlyMap<string, string>;
  channels: ReadonlyMap<string, string>;
  /** What the service calls an operation. */
  operations: Readonly<Record<Condition["operation"], string>>;
};

/** The members that we rule. What an alert becomes, beside pages and messages, is not ours to say. */
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

/** What a new route needs besides, and what people may change afterwards. */
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

/** A source that stands in several entries takes what any of them lets through. */
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
    subject: `alert.attributes.${findId(ids.attributes, condition.label)}`,
    operation: ids.operations[condition.operation],
    param_bindings: "values" in condition ? [listOf(condition.values)] : [],
  };
}

/** Nobody but the path: a person who was added by hand shows as a difference. */
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
  // Names are resolved, and the missing ones told, before anything is declared.
  if (id === undefined) throw new Error(`no id for ${name}`);
  return id;
}
