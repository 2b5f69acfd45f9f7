/** `vedette doctor`: looks at all that an installation needs, also at one that does not run. Changes nothing. */
import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Config, readConfig } from "#config.ts";
import { createDefinitionStore } from "#definitions/applied/store.ts";
import { readFileDefinitions } from "#definitions/commands.ts";
import { findBinaries } from "#embedded/postgres-cluster.ts";
import { restateBinary } from "#embedded/restate.ts";
import { holderOf, readRunning, runningDatabaseUrl } from "#embedded/running.ts";
import { type FleetOverview, FleetSearch } from "#fleet/overview/contract.ts";
import { createFleetOverview } from "#fleet/overview/reader.ts";
import { readBeginning } from "#kernel/body.ts";
import { type Database, openDatabase, requireKnownSchema } from "#kernel/database.ts";
import { namingSetting } from "#kernel/database-faults.ts";
import { request } from "#kernel/http.ts";
import { cleanWords, createLog } from "#kernel/log.ts";
import { createReach } from "#kernel/reach.ts";
import { requireHealth } from "#kernel/restate.ts";
import { requireFreePort } from "#kernel/server.ts";
import { formatDuration } from "#kernel/time.ts";
import { isPlainHttp, parseImageName } from "#registry/image-name.ts";
import { oldListMs } from "#status/contract.ts";
import { roles } from "./base.ts";
import { databaseSettings } from "./data.ts";
import { warnOf } from "./definitions.ts";
import { type Fleet, fleetsOf, settingOf } from "./fleets.ts";
import { findOff } from "./monitor-secrets.ts";
import { servicesOf } from "./own-services.ts";
import { refuseSettings } from "./refusals.ts";

/** warning: off, or leads nowhere; unknown: it cannot be seen now. `next`: the command; of what is ok there is none. */
export type Finding = {
  about: string;
  grade: "ok" | "warning" | "fault" | "unknown";
  text: string;
  next?: string;
};

class Unseen extends Error {}

/** Limit of one request to another service, in all. */
const limitMs = 5_000;
const silent = createLog({ level: "silent", format: "json" });

export async function examine(of: { config?: string; dataDir?: string }): Promise<Finding[]> {
  const findings: Finding[] = [];
  /** Records the text that `read` answers, or what it throws; undefined: it threw. */
  const add = async <T>(about: string, next: string, read: () => T | Promise<T>) => {
    try {
      const found = await read();
      if (typeof found === "string") findings.push({ about, grade: "ok", text: found });
      return found;
    } catch (error) {
      const grade = error instanceof Unseen ? "unknown" : "fault";
      for (const line of (error as Error).message.split("\n")) {
        findings.push({ about, grade, text: cleanWords(line, 2_000), next });
      }
      return undefined;
    }
  };
  await add("Node", "", () => process.versions.node);
  await add("libatomic", "apt-get install libatomic1", findLibatomic);
  const config = await add("settings", "edit vedette.toml, or the environment", () => {
    const read = readConfig({ file: of.config, environment: process.env });
    refuseSettings(read, roles);
    return read;
  });
  if (config === undefined) return findings;
  const dataDir = path.resolve(of.dataDir ?? config.data_dir);
  const isHeld = holderOf(dataDir) !== undefined;
  const running = await add("program", "vedette start", () => unseen(() => readRunning(dataDir)));
  await add("data directory", `ls -ld ${dataDir}`, () => findDataDir(dataDir));
  await add("ports", "ss -ltnp", () => findPorts(config, isHeld || running !== undefined));
  await add("Restate", "vedette start", () => findRestate(config, running?.metrics));
  const database = await add("Postgres", "vedette start", () => findPostgres(config, dataDir));
  if (database !== undefined) findings.push({ about: "Postgres", grade: "ok", text: "it answers" });
  for (const fleet of fleetsOf(config)) {
    const overview = readFleet(fleet.name, database);
    const setting = settingOf(fleet.name, `fleet.${fleet.fleet.driver}`);
    const list = `check that the fleet runs, and the settings ${setting}`;
    await add(`list of fleet ${fleet.name}`, list, async () => findList(await overview));
    await add("registry", "curl -I https://…/v2/", () =>
      findRegistries(fleet, { config, overview }),
    );
  }
  const rows = await add("rows", "vedette config check", () => findRows(config, database));
  await database?.end();
  return [...findings, ...(rows ?? [])];
}

function unseen<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Unseen((error as Error).message);
  }
}

/** The Node that npm installs links to it; another one may run this. */
function findLibatomic(): string {
  const node = fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url));
  if (existsSync(node)) execFileSync(node, ["--version"], { stdio: "pipe" });
  return "the Node of npm needs no more than there is";
}

function findDataDir(dataDir: string): string {
  const isThere = existsSync(dataDir);
  if (isThere) accessSync(dataDir, constants.R_OK | constants.W_OK);
  const { bavail, bsize } = statfsSync(isThere ? dataDir : process.cwd());
  const free = `${((bavail * bsize) / 1e9).toFixed(1)} GB are free`;
  if (bavail * bsize < 1e9) throw new Error(`${dataDir}: ${free}, and 1 GB is the least`);
  return `${dataDir}: ${free}`;
}

async function findPorts(config: Config, isRunning: boolean): Promise<string> {
  if (isRunning) return "those of the Vedette here";
  const { restate, database, ...others } = config;
  const { ingress_port, admin_port, ingress_url } = restate;
  const named = {
    ...{ "api.port": others.api.port, "control.port": others.control.port },
    ...{ "worker.port": others.worker.port, "metrics.port": others.metrics.port },
    ...(ingress_url === "" && { "restate.ingress_port": ingress_port }),
    ...(ingress_url === "" && { "restate.admin_port": admin_port }),
    ...(database.url === "" && { "database.port": database.port }),
  };
  for (const [setting, port] of Object.entries(named)) {
    await requireFreePort({ host: "127.0.0.1", port, setting });
  }
  const fixed = Object.values(named).filter((port) => port !== 0);
  return `free: ${fixed.join(", ") || "any will do"}`;
}

async function findRestate({ restate }: Config, metricsUrl: string | undefined): Promise<string> {
  const { ingress_url: url } = restate;
  if (url !== "") {
    await requireHealth(url).catch((cause: Error) => {
      throw new Error(`restate.ingress_url: ${url} does not answer: ${cause.message}`);
    });
    return `${url} answers`;
  }
  restateBinary();
  if (metricsUrl === undefined) throw new Unseen("the embedded one runs with the program only");
  const answer = await request(`${metricsUrl}/readyz`, { signal: AbortSignal.timeout(limitMs) });
  const text = (await readBeginning(answer.body, 65_536)).toString();
  const { dependencies } = JSON.parse(text) as { dependencies: Record<string, string> };
  if (dependencies["restate"] === "down") throw new Error("the embedded one does not answer");
  return "the embedded one answers";
}

async function findPostgres(config: Config, dataDir: string): Promise<Database> {
  if (config.database.url === "") await findBinaries();
  const url = config.database.url || unseen(() => runningDatabaseUrl(dataDir));
  const database = openDatabase(url, silent, 2);
  const { ofPool } = databaseSettings(config);
  return namingSetting(ofPool, () => requireKnownSchema(database).then(() => database)).catch(
    (error: Error) => database.end().then(() => Promise.reject(error)),
  );
}

/** Throws `Unseen` without a database. */
async function readFleet(fleet: string, database: Database | undefined) {
  if (database === undefined) throw new Unseen("only Postgres knows");
  return createFleetOverview(database)(fleet, FleetSearch.parse({}));
}

function findList({ list, total }: FleetOverview): string {
  const ageMs = Math.max(0, Date.now() - Date.parse(list.asked_at ?? "1970-01-01"));
  const text = `${total} sentinels, listed ${list.asked_at === null ? "never" : `${formatDuration(ageMs)} ago`}`;
  if (list.problem !== null) throw new Error(`${text}; since then: ${list.problem}`);
  if (ageMs > oldListMs) throw new Error(text);
  return text;
}

/** Asks the registries of the fleet's images; any answer will do. */
async function findRegistries(
  fleet: Fleet,
  { config, overview }: { config: Config; overview: Promise<FleetOverview> },
): Promise<string> {
  const isAsked = fleet.rollout.require_image_in_registry ?? fleet.fleet.driver !== "process";
  if (!isAsked) return `not asked for fleet ${fleet.name}`;
  const { versions } = await overview;
  const images = versions.flatMap(({ image }) => image ?? []);
  const hosts = new Set(images.map((image) => parseImageName(image).host));
  // A fleet may name any host.
  const { agent } = createReach({ services: servicesOf(config) });
  for (const host of hosts) {
    const scheme = isPlainHttp(host, fleet.registry.insecure) ? "http" : "https";
    const asked = request(`${scheme}://${host}/v2/`, {
      signal: AbortSignal.timeout(limitMs),
      dispatcher: agent,
    });
    await asked
      .then(({ body }) => body.dump())
      .catch((cause: Error) => {
        throw new Error(`${host} does not answer: ${cause.message}`);
      });
  }
  return `${[...hosts].join(", ") || "no image names one"}: answers`;
}

/** Secrets that are not set, channels that lead nowhere, heartbeats without a ping URL, and checks that are off. */
async function findRows(config: Config, database: Database | undefined): Promise<Finding[]> {
  const current = database && (await createDefinitionStore(database, silent).readCurrent());
  const set = current?.set ?? (await readFileDefinitions(config, undefined)).set;
  const warnings = await warnOf(set, { config, database: database ?? nothing });
  const seen = warnings.filter(
    ({ message }) => database !== undefined || !/ping URL/.test(message),
  );
  const groups = Map.groupBy(
    [...findOff(set, config), ...seen],
    ({ section, message }) => `${section} ${message}`,
  );
  return [...groups.values()].map((rows) => {
    const [{ section, message } = { section: "", message: "" }] = rows;
    const text = `${rows.map(({ key }) => key).join(", ")}: ${message}`;
    return { about: section, grade: "warning", text, next: nextOf(section, message) };
  });
}

function nextOf(section: string, message: string): string {
  const [, named] = /`(vedette [^`]*)`/.exec(message) ?? [];
  if (named !== undefined) return named;
  if (/ set | needs /.test(message)) return "edit vedette.toml, or the environment";
  return section === "sources" || section === "routes"
    ? "vedette alerts lint"
    : "vedette config print";
}

/** Stands in for a missing database: it has no rows. */
const nothing = { query: async () => ({ rows: [] }) } as unknown as Database;
