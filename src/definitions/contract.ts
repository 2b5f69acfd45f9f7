/** `Definitions`: how the rows of a file become those of a running program. */
import { z } from "zod";
import { isShallow, tooDeep } from "#kernel/documents.ts";
import { listOf } from "#kernel/setting.ts";
import { type Section, sectionNames, sections } from "./rows/contract.ts";

export const definitionsService = "vedette.v1.Definitions";

/** The only key: a program has one set of definitions. */
export const definitionsKey = "singleton";

/** `source` of the revision in force. standard, file: applied by a start without or with a file. */
const definitionSources = ["standard", "file", "command"] as const;
export type DefinitionSource = (typeof definitionSources)[number];

const rowsOf = <Name extends Section>(section: Name) =>
  listOf(
    z.custom((row) => isShallow(row), tooDeep).pipe(sections[section].row as z.ZodType),
    sections[section].most,
  ) as unknown as z.ZodType<readonly z.output<(typeof sections)[Name]["row"]>[]>;

/** All rows. Checked again here, since callers need not be our command line. */
const AllRows = z.strictObject({
  locations: rowsOf("locations"),
  channels: rowsOf("channels"),
  checks: rowsOf("checks"),
  heartbeats: rowsOf("heartbeats"),
  drills: rowsOf("drills").default([]),
  gates: rowsOf("gates").default([]),
  sources: rowsOf("sources"),
  routes: rowsOf("routes"),
});

const RowKey = z.strictObject({ section: z.enum(sectionNames), key: z.string().max(200) });
export type RowKey = z.infer<typeof RowKey>;

const PlanRequest = z
  .strictObject({
    definitions: AllRows,
    /** Rows that the file names as null: they are removed also without `prune`. */
    removed: z.array(RowKey).max(10_000).default([]),
    /** True to remove rows of the program that the definitions lack. */
    prune: z.boolean().default(false),
  })
  .meta({ title: "DefinitionsPlanRequest" });
export type PlanRequest = z.infer<typeof PlanRequest>;

const ApplyRequest = PlanRequest.extend({
  /** The revision that the plan was made for; 409 `definitions_moved` when another one is in force. */
  base_revision: z.int().min(0).optional(),
}).meta({ title: "DefinitionsApplyRequest" });
export type ApplyRequest = z.infer<typeof ApplyRequest>;

/** leave: the program has the row, the definitions lack it, and it stays, since `prune` is not set. */
const changeKinds = ["add", "change", "remove", "leave"] as const;

export const Change = RowKey.extend({
  kind: z.enum(changeKinds),
  /** The fields that differ, of a changed row. */
  fields: z.array(z.string()).optional(),
});
export type Change = z.infer<typeof Change>;

const Warning = RowKey.extend({ message: z.string() });
export type Warning = z.infer<typeof Warning>;

const PlanAnswer = z.object({
  /** The revision in force; 0: nothing was ever applied. */
  revision: z.int(),
  changes: z.array(Change),
  warnings: z.array(Warning),
});
export type PlanAnswer = z.infer<typeof PlanAnswer>;

const ApplyAnswer = z.object({
  /** The revision in force now. */
  revision: z.int(),
  changes: z.array(Change),
});
export type ApplyAnswer = z.infer<typeof ApplyAnswer>;

const ShowAnswer = z.object({
  revision: z.int(),
  /** null: nothing was ever applied, and the standard rows are in force. */
  applied_at: z.string().nullable(),
  applied_by: z.string().nullable(),
  source: z.enum(definitionSources),
  definitions: z.record(z.enum(sectionNames), z.array(z.record(z.string(), z.unknown()))),
});
export type ShowAnswer = z.infer<typeof ShowAnswer>;

const Empty = z.strictObject({}).meta({ title: "Empty request" });

export const definitionsHandlers = {
  Plan: { input: PlanRequest, output: PlanAnswer },
  Apply: { input: ApplyRequest, output: ApplyAnswer },
  Show: { input: Empty, output: ShowAnswer },
} as const;

export type DefinitionsProblemCode = "definitions_moved" | "invalid_definitions";
