/** The JSON schema of a file of definitions: editors complete and check YAML and JSON by it. */
import { z } from "zod";
import { type Section, sectionNames, sections } from "./rows/contract.ts";

type Json = { [name: string]: unknown };

/** Draft 7, which every editor knows. It allows what the program allows, but for rules across fields and rows. */
export function definitionsSchema(): Json {
  const rows = Object.fromEntries(sectionNames.map((name) => [name, z.array(sections[name].row)]));
  const generated = z.toJSONSchema(z.object(rows), {
    io: "input",
    target: "draft-7",
    override: ({ jsonSchema }) => dropSafeBounds(jsonSchema),
  }) as { properties: Record<Section, { items: Json }>; definitions?: Json };
  const rowSchemas = sectionNames.flatMap((section) => {
    const row = generated.properties[section].items;
    return [
      [rowName(section), row],
      [namedRowName(section), withoutKey(section, row)],
    ] as const;
  });
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Definitions of Vedette",
    description: "Checks, heartbeats, drills, channels, gates, alert sources and alert routes.",
    type: "object",
    properties: { ...topProperties, ...sectionProperties() },
    additionalProperties: false,
    definitions: { ...generated.definitions, ...Object.fromEntries(rowSchemas) },
  };
}

const topProperties = {
  $schema: { type: "string" },
  extends: {
    description: "Rows to begin with. standard: those of Vedette itself.",
    type: "array",
    items: { const: "standard" },
  },
  include: {
    description: "Further files, as globs relative to this one.",
    type: "array",
    items: { type: "string", minLength: 1 },
  },
};

const words: Record<Section, string> = {
  locations: "Locations of your own, at which `vedette monitor-runner` runs.",
  channels: "Where alerts go.",
  checks: "API checks.",
  heartbeats: "Jobs that ping.",
  drills: "Test alerts at times of a cron.",
  gates: "Gates of rollouts, which requests name.",
  sources: "Where the alerts come from that routes take.",
  routes: "Which alerts page whom, and in which chat channel they are posted.",
};

function sectionProperties(): Json {
  return Object.fromEntries(
    sectionNames.map((section) => [
      section,
      {
        description: `${words[section]} A list, or rows by their ${sections[section].key}; there null removes one.`,
        anyOf: [
          { type: "array", maxItems: sections[section].most, items: refTo(rowName(section)) },
          {
            type: "object",
            additionalProperties: { anyOf: [refTo(namedRowName(section)), { type: "null" }] },
          },
        ],
      },
    ]),
  );
}

const rowName = (section: Section) => section.replace(/s$/, "");
const namedRowName = (section: Section) => `named-${rowName(section)}`;
const refTo = (name: string) => ({ $ref: `#/definitions/${name}` });

/** Returns the schema of rows whose key is their name in an object. */
function withoutKey(section: Section, row: Json): Json {
  const kinds = (row["oneOf"] ?? row["anyOf"]) as Json[] | undefined;
  if (kinds !== undefined) return { oneOf: kinds.map((kind) => withoutKey(section, kind)) };
  const required = row["required"] as string[];
  return { ...row, required: required.filter((name) => name !== sections[section].key) };
}

/** Every whole number has them: they say nothing. */
function dropSafeBounds(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
