/** Random histories of alert routes: what was there, who else edits when, and what goes wrong. */
import fc from "fast-check";
import type { Content, Json } from "#routing/incident/contract.ts";
import { newRoute } from "#routing/incident/declared.ts";
import { overlay } from "#routing/incident/overlay.ts";
import type { CrashPoint } from "../program/crashing-steps.ts";
import type { Fault, IncidentDouble } from "./incident-double.ts";

/** Of a route, by its place among those there are. */
export type Edit = { kind: (typeof editKinds)[number]; place: number };

const editKinds = [
  "touch",
  "note",
  "disable",
  "channel",
  "page",
  "rename",
  "delete",
  "namesake",
  "unknown_field",
] as const;

/** What happens at one request. */
type Event = { fault?: Fault; edit?: Edit };

export type History = {
  conflictStatus: 409 | 412 | 422;
  /** Of each row: whether a route of its name is there, and differs. */
  before: ("absent" | "same" | "differs" | "ours" | "ours_differs" | "ours_gone")[];
  /** Routes that are no rows. */
  others: number;
  adopt: boolean;
  events: Event[];
  crashes: Map<number, CrashPoint>;
};

const fault = fc.constantFrom<Fault>(
  "wait_seconds",
  "wait_date",
  "busy",
  "lost_before",
  "lost_after",
  "error_before",
  "error_after",
);

const edit = fc.record({ kind: fc.constantFrom(...editKinds), place: fc.nat(12) });

const calm = fc.constant({});

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: calm },
  { weight: 2, arbitrary: fault.map((one) => ({ fault: one })) },
  { weight: 1, arbitrary: edit.map((one) => ({ edit: one })) },
  { weight: 1, arbitrary: fc.record({ fault, edit }) },
);

export function anyHistory(rows: number): fc.Arbitrary<History> {
  const state = fc.constantFrom("absent", "same", "differs", "ours", "ours_differs", "ours_gone");
  const crash = fc.tuple(fc.nat(60), fc.constantFrom<CrashPoint>("before", "unkept"));
  return fc.record({
    conflictStatus: fc.constantFrom(409, 412, 422),
    before: fc.array(state, { minLength: rows, maxLength: rows }),
    // Now and then more than one page of them.
    others: fc.oneof(
      { weight: 9, arbitrary: fc.nat(2) },
      { weight: 1, arbitrary: fc.constant(30) },
    ),
    adopt: fc.boolean(),
    events: fc.array(event, { maxLength: 80, size: "max" }),
    crashes: fc.array(crash, { maxLength: 6 }).map((points) => new Map(points)),
  }) as fc.Arbitrary<History>;
}

/** A whole route that says what is declared. */
export function routeSaying(declared: Content): Content {
  return overlay(newRoute, declared);
}

export function aForeignRoute(name: string): Content {
  const bare = {
    name,
    enabled: true,
    is_private: false,
    condition_groups: [],
    alert_sources: [],
    escalation_config: { escalation_targets: [] },
    incident_config: { enabled: false },
    channel_config: [],
  };
  return routeSaying(bare);
}

let lastNote = 0;

/** What someone does who works at the service itself. Every note is another one. */
export function edited(content: Content, kind: Edit["kind"]): Content {
  lastNote += 1;
  const literal = `note ${lastNote}`;
  switch (kind) {
    case "note": {
      const summary = { binding: { value: { literal } } };
      return {
        ...content,
        incident_template: { ...asObject(content["incident_template"]), summary },
      };
    }
    case "disable":
      return { ...content, enabled: false };
    case "channel": {
      const binding = { array_value: [{ literal: `C${lastNote}` }] };
      const target = { binding, channel_visibility: "public" };
      return { ...content, channel_config: [{ condition_groups: [], slack_targets: target }] };
    }
    case "page": {
      const escalation = asObject(content["escalation_config"]);
      const targets = [{ users: { array_value: [{ literal: `01USER${lastNote}` }] } }];
      return { ...content, escalation_config: { ...escalation, escalation_targets: targets } };
    }
    case "rename":
      return { ...content, name: `${content["name"]}, ${literal}` };
    case "unknown_field":
      return { ...content, of_next_year: { literal } };
    default:
      return content;
  }
}

function asObject(value: Json | undefined): Content {
  return (value ?? {}) as Content;
}

/** `names` are those of rows: a namesake takes one of them. */
export function makeEdit(double: IncidentDouble, { kind, place }: Edit, names: string[]): void {
  if (kind === "namesake") {
    double.add(aForeignRoute(names[place % names.length] ?? ""));
    return;
  }
  const all = [...double.routes.values()];
  const chosen = all[place % Math.max(all.length, 1)];
  if (chosen === undefined) return;
  if (kind === "delete") double.routes.delete(chosen.id);
  else double.edit(chosen.id, (content) => edited(content, kind));
}
