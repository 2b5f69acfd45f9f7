/** Compares the definitions of a file with those of a running program, and applies them. */
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";
import { readConfig } from "#config.ts";
import { readFileDefinitions } from "#definitions/commands.ts";
import {
  type ApplyAnswer,
  definitionsHandlers,
  definitionsKey,
  definitionsService,
  type PlanAnswer,
} from "#definitions/contract.ts";
import { describeChanges, describeWarnings } from "./report-changes.ts";

type Options = GlobalOptions & { config?: string; prune: boolean };

/** Exit code 0: the program is as the file says; 2: it is not. */
export async function plan(options: Options): Promise<number> {
  const planned = await ask(connect(options), await requestOf(options));
  printAnswer(planned, options.json, () =>
    [describeChanges(planned, "plan"), ...describeWarnings(planned)].join("\n"),
  );
  return planned.changes.length === 0 ? 0 : 2;
}

/** Exit code 0: the program is as the file says; 2: rows that the file lacks are left, for want of --prune. */
export async function apply(options: Options): Promise<number> {
  const connection = connect(options);
  const request = await requestOf(options);
  const { revision } = await ask(connection, request);
  const applied = await callApply(connection, { ...request, base_revision: revision });
  printAnswer(applied, options.json, () => describeChanges(applied, "apply"));
  return applied.changes.some(({ kind }) => kind === "leave") ? 2 : 0;
}

async function requestOf({ config, prune }: Options) {
  const settings = readConfig({ environment: process.env });
  const { set, removed } = await readFileDefinitions(settings, config);
  return { definitions: set, removed, prune };
}

const addressOf = (handler: keyof typeof definitionsHandlers) =>
  `${definitionsService}/${definitionsKey}/${handler}`;

function ask(connection: Connection, request: object): Promise<PlanAnswer> {
  return connection.call(addressOf("Plan"), request, definitionsHandlers.Plan.output);
}

function callApply(connection: Connection, request: object): Promise<ApplyAnswer> {
  return connection.call(addressOf("Apply"), request, definitionsHandlers.Apply.output);
}
