/** Wires the definitions: where they come from at a start, who reads them, and who is told of a change. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { findDestination } from "#alerts/channels/secrets.ts";
import type { Environment } from "#alerts/contract.ts";
import { createSourceOf } from "#alerts/source.ts";
import type { Config } from "#config.ts";
import { createCurrentDefinitions } from "#definitions/applied/current.ts";
import { createDefinitionsObject } from "#definitions/applied/object.ts";
import { startDefinitions } from "#definitions/applied/start.ts";
import { createDefinitionStore } from "#definitions/applied/store.ts";
import { readFileDefinitions } from "#definitions/commands.ts";
import type { StartRequest } from "#definitions/internal.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import type { ChannelRow } from "#definitions/rows/fields.ts";
import { type Finding, locateSecret } from "#definitions/rules/lint.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { warnOfChecks } from "#definitions/rules/warnings.ts";
import { standardSet } from "#definitions/standard/standard.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database, Queries } from "#kernel/database.ts";
import { createReadSecret, withUnset } from "#kernel/secrets.ts";
import type { Definitions, HowFresh, ReadDefinitions } from "#monitor/contract.ts";
import { drillObject } from "#monitor/drills/internal.ts";
import { type MissingOfJob, withMissingSettings } from "#monitor/rules/own-jobs.ts";
import { drillsOf } from "#monitor/start.ts";
import { lintAlertRoutes } from "#routing/commands.ts";
import type { Base } from "./base.ts";
import { findUnknownChannels } from "./fleets.ts";
import type { Monitor } from "./monitor.ts";

export type ProgramDefinitions = {
  readDefinitions: ReadDefinitions;
  readRows: (how?: HowFresh) => Promise<DefinitionSet>;
  readChannels: (how?: { isFresh: boolean }) => Promise<readonly ChannelRow[]>;
  createService: (
    readActor: ReadActor,
    monitor: SecretCheck & Pick<Monitor, "follow">,
  ) => EndpointOptions["services"];
  /** Must be called after the services are registered at Restate, and before the checks are started. */
  start: (ingressUrl: string, monitor: SecretCheck) => Promise<void>;
};

type SecretCheck = Pick<Monitor, "requireMeantSecrets">;

/** Reads the definitions that this start applies; undefined: none. Throws with one line for each fault of the file. */
export async function readStartRequest(config: Config): Promise<StartRequest | undefined> {
  if (config.definitions.apply === "never") return undefined;
  const { set, removed, files } = await readFileDefinitions(config, undefined);
  const source = files.length === 0 ? "standard" : "file";
  return { definitions: set, removed, prune: false, source };
}

type Source = { database: Database; missingOfJob: MissingOfJob };

/** Reads the definitions in force over this pool. */
export function createReadDefinitions(base: Base, source: Source): ReadDefinitions {
  return openDefinitions(base, source).current.readMonitored;
}

function openDefinitions({ config, log }: Base, { database, missingOfJob }: Source) {
  const store = createDefinitionStore(database, log);
  const standard = standardSet(config);
  const complete = (rows: Definitions) => withMissingSettings(rows, missingOfJob);
  const current = createCurrentDefinitions({ store, standard, complete, log, nowMs: Date.now });
  return { store, standard, current };
}

export function createDefinitions(
  base: Base,
  { given, ...source }: Source & { given: StartRequest | undefined },
): ProgramDefinitions {
  const { config, log } = base;
  const { database } = source;
  const { store, standard, current } = openDefinitions(base, source);
  return {
    readDefinitions: current.readMonitored,
    readRows: current.readSet,
    readChannels: async (how) => (await current.readSet(how)).channels,
    createService: (readActor, monitor) => [
      createDefinitionsObject({
        store,
        standard,
        readActor,
        findMisdirected: (set) => findMisdirected(set, base, monitor),
        warnOf: (set, isBlind) => warnOf(set, { config, database, isBlind }),
        notify: async (ctx, { heartbeats }) => {
          await ctx.run("follow", monitor.follow);
          for (const id of drillsOf(heartbeats)) ctx.sendClient(drillObject, id).start({});
        },
      }),
    ],
    start: (ingressUrl, monitor) => {
      if (given !== undefined) {
        for (const { section, key, message } of findMisdirected(given.definitions, base, monitor)) {
          log.warn({ row: `${section}.${key}`, detail: message }, "a secret is not sent");
        }
      }
      return startDefinitions({ ingressUrl, request: given, log });
    },
  };
}

/** The secrets of rows that may not go to where they would. */
function findMisdirected(set: DefinitionSet, { config }: Base, monitor: SecretCheck): Finding[] {
  const readSecret = withUnset(createReadSecret({}, config.definitions.secrets_dir));
  const checks = new Map(toMonitored(set).apiChecks.map((check) => [check.id, check]));
  return [
    ...set.checks.flatMap((row) => {
      const check = checks.get(row.id);
      return check ? locateSecret("checks", row, () => monitor.requireMeantSecrets(check)) : [];
    }),
    ...set.channels.flatMap((row) =>
      row.kind === "incident"
        ? []
        : locateSecret("channels", row, () => findDestination(row, readSecret)),
    ),
  ];
}

export async function warnOf(
  set: DefinitionSet,
  { config, database, isBlind = false }: { config: Config; database: Queries; isBlind?: boolean },
) {
  const sourceOf = createSourceOf(config.incident.url, config.alerts);
  const { rows } = await database.query("SELECT id FROM heartbeats WHERE token_hash IS NOT NULL");
  const registered = new Set<string>(rows.map(({ id }) => id));
  const hasSource = (environment: Environment) => sourceOf(environment) !== undefined;
  const readSecret = createReadSecret({}, config.definitions.secrets_dir);
  const hasSecret = (name: string) => isBlind || readSecret(name) !== undefined;
  const { findings } = lintAlertRoutes(set, config.incident);
  const isRoute = (name: string) => set.routes.some((route) => route.name === name);
  return [
    ...warnOfChecks(set, { hasSource, hasSecret, registered }),
    ...findUnknownChannels(config, set.channels),
    ...findings.map(({ about, message }) => ({
      section: isRoute(about) ? ("routes" as const) : ("sources" as const),
      key: about,
      message,
    })),
  ];
}
