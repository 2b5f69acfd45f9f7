/** The parts of docs/measured.md and of the pages of `bench/results/` that are made of the files of results. */
import type { Figure, Results, Row, Run } from "./results.ts";
import { toText } from "./verdict.ts";

type All = ReadonlyMap<string, Results>;

/** Reads a figure as text, without its unit. */
type Read = (bench: string, name: string, setting?: string) => string;

/** The sentence of each bench under "Runs"; some share one. */
const headlines: Record<string, (read: Read) => string> = {
  start: (read) =>
    `ready ${read("start", "ready from nothing")} s from nothing, ${read("start", "ready again")} s again; all twelve ` +
    `sentinels serve after ${read("start", "all sentinels serve, from nothing")} and ` +
    `${read("start", "all sentinels serve, again")} s`,
  rollout: (read) => {
    const behind = ["http-told", "http"].map((driver) =>
      read("rollout", "a sentinel of 5,000", `BENCH_DRIVER=${driver}`),
    );
    return (
      `${read("rollout", "a sentinel of 10,000")} ms a sentinel at 10,000, ` +
      `${read("rollout", "a sentinel of 50,000")} at 50,000; behind the driver http ${behind.join(" to ")} ms`
    );
  },
  cancel: (read) =>
    `\`Cancel\` answers in ${read("cancel", "Cancel answers, p50, deploys of 50 ms")} ms (p50), ` +
    `${read("cancel", "Cancel answers, p99, deploys of 50 ms")} ms (p99), with 100 deploys in flight`,
  docker: (read) =>
    `30 containers on three engines: ${read("docker", "seconds of a rollout, its image pulled")} s`,
  kubernetes: (read) =>
    `200 Deployments: ${read("kubernetes", "seconds of a rollout")} s, ` +
    `${read("kubernetes", "calls of a Deployment")} calls and ` +
    `${read("kubernetes", "CPU of a Deployment")} ms of CPU each`,
  "verify, traces": (read) =>
    `${read("verify", "verifications a second")} verifications a second in one process, ` +
    `${read("verify", "CPU of a verification")} µs of CPU each; traces cost it ` +
    `${read("traces", "CPU of a verification with traces against one without")} times the CPU, a sentinel ` +
    `${read("traces", "a sentinel with traces against one without")} times the time`,
  threads: (read) =>
    `two threads do ${read("threads", "work of two threads, times that of one")} times the work of one`,
  "open-loop": (read) =>
    `10,000 verifications a second by the clock: ${read("open-loop", "p50 at the client")} ms (p50), ` +
    `${read("open-loop", "p99 at the client")} ms (p99)`,
  "many-keys": (read) =>
    `a million keys cost ${read("many-keys", "throughput that 1000000 keys cost")} % of the throughput; ` +
    `${read("many-keys", "resident memory")} MB`,
  limit: (read) =>
    `${read("limit", "limits a second")} limits a second, ${read("limit", "limits a second, over Redis")} shared over Redis`,
  "limit-accuracy": (read) =>
    `of a limit of 100 over Redis, ${read("limit-accuracy", "calls that pass at two instances at once")} pass at two ` +
    `processes at once, ${read("limit-accuracy", "calls that pass at an edge")} at a window's edge`,
  soak: (read) =>
    `ten minutes of load: ${read("soak", "median memory in the second third")} MB, then ` +
    `${read("soak", "median memory in the last third")} MB`,
  fuzz: (read) =>
    `${read("fuzz", "requests")} odd requests: ${read("fuzz", "answers that are a 5xx or violate the contract")} ` +
    "answered with a 5xx or against the contract",
  monitor: (read) =>
    `10,000 heartbeats a minute take ${read("monitor", "heartbeats, share of a core")} % of a core; with 500 checks a ` +
    `minute ${read("monitor", "heartbeats and checks, share of a core")} %`,
  checks: (read) => {
    const of = (figure: string) => read("checks", figure, "BENCH_ROUNDS=2");
    return (
      `one of 1,000 API checks every 10 s takes ${of("a check, CPU of all processes")} ms of CPU, ` +
      `${of("a check against Prometheus with the blackbox exporter")} times one of Prometheus with its blackbox exporter`
    );
  },
  pings: (read) =>
    `10,000 pings in one second: all answered after ${read("pings", "a burst of pings is answered after")} ms, ` +
    `${read("pings", "a ping of a burst, CPU of all processes")} ms of CPU each`,
  "alert-delay": (read) =>
    `from a failing answer to the receiver ${read("alert-delay", "a failure, p50")} ms (p50), ` +
    `${read("alert-delay", "a failure, p99")} ms (p99)`,
  console: (read) =>
    `a viewer is sent ${read("console", "to a viewer of 10000 sentinels")} MB at 10,000 sentinels; frames every ` +
    `${read("console", "between moving frames of 10000 sentinels, p95")} ms (p95)`,
  monitors: (read) =>
    `2,000 checks and 2,000 heartbeats: the list is there after ${read("monitors", "the list is shown after")} ms, a mute ` +
    `after ${read("monitors", "a muted one shows after")} ms`,
  blame: (read) =>
    `the first suspect of an alert is the cause in ${read("blame", "first is the cause, 1")}, ` +
    `${read("blame", "first is the cause, 2")} and ${read("blame", "first is the cause, 5")} % of simulated faults beside 0, 1 ` +
    "and 4 innocent changes",
  "peers, better-auth, alerts": () => "below",
  "by-hand": () =>
    "a real Kubernetes cluster, the size of an installation, heartbeats with one owner, comparisons simulated and live",
};

const comparisons: ((read: Read) => string)[] = [
  (read) => {
    const each = (engine: string) => read("peers", `a sentinel: ${engine}`);
    const workflows = [each("DBOS, a queue"), each("DBOS, a workflow each")].sort();
    return (
      `Rollouts (\`bench:peers\`, 5,000 sentinels): Vedette ${each("Vedette")} ms each, DBOS ${each("DBOS, a step each")} ` +
      `ms as steps of one workflow and ${workflows.join(" to ")} ms as a workflow each, ` +
      `BullMQ ${each("BullMQ, a job each")} ms. BullMQ has no durable waits, no one deploy at a time per sentinel, no ` +
      "waves and no Cancel."
    );
  },
  (read) =>
    `Verifications (\`bench:better-auth\`): ${read("better-auth", "verifyKey against better-auth")} times better-auth ` +
    `with its API-key plugin, ${read("better-auth", "verifyKey against better-auth, in memory")} times the same with its ` +
    "keys in a Map.",
  (read) =>
    `Limits (\`bench:limit\`): ${read("limit", "limit against Express, both in process")} times Express with ` +
    `rate-limiter-flexible in process, ${read("limit", "limit against Express, both over Redis")} times with both over ` +
    "Redis.",
  (read) => {
    const list = (subject: string) =>
      ["nginx limit_req", "haproxy stick tables", "rate-limiter-flexible over Redis"]
        .map((peer) => read("limit-accuracy", `${subject}: ${peer}`))
        .join(", ");
    const own = (subject: string) => read("limit-accuracy", `${subject}: Vedette over Redis`);
    return (
      "Calls that pass of a limit of 100 (`bench:limit-accuracy`), beside nginx `limit_req`, haproxy stick tables and " +
      `rate-limiter-flexible: within two seconds around a window's edge ${own("at an edge")} beside ${list("at an edge")}; at two ` +
      `instances at once ${own("two instances")} beside ${list("two instances")}; around a \`kill -9\` of one ` +
      `${own("an instance killed")} beside ${list("an instance killed")}.`
    );
  },
  (read) =>
    `Containers (\`bench:docker\`): ${read("docker", "a rollout, its image pulled, against the engines alone")} times the ` +
    `engines alone, the next rollout ${read("docker", "the next one")}; Deployments (\`bench:kubernetes\`): ` +
    `${read("kubernetes", "a rollout against the changes alone")} times the changes alone.`,
  (read) =>
    `Alerts (\`bench:alerts\`, everything killed with \`kill -9\`): of ${read("alerts", "episodes")} episodes Vedette loses ` +
    `${read("alerts", "events lost")} events, Alertmanager 0.25 as a single instance ` +
    `${read("alerts", "failures lost by Alertmanager")} failures and ` +
    `${read("alerts", "recoveries lost by Alertmanager")} recoveries. Vedette delivered ` +
    `${read("alerts", "events delivered again")} events twice, Alertmanager ` +
    `${read("alerts", "events delivered again by Alertmanager")}.`,
];

/** Why an aim is missed: of each figure whose name starts with `figure`. */
const reasons: readonly { bench: string; figure: string; reason: string }[] = [
  {
    bench: "traces",
    figure: "CPU of a verification with traces against one without",
    reason: "of seven runs 1.00 to 1.20 times; each hundredth is recorded",
  },
  {
    bench: "cancel",
    figure: "Cancel answers, p99",
    reason: "five or six entries of Restate's log and a commit, one after the other",
  },
  {
    bench: "cancel",
    figure: "the blocked Rollout answers, from the call of Cancel, p99",
    reason: "the same; Restate's least call takes 47 ms of them",
  },
  {
    bench: "threads",
    figure: "work of two threads, times that of one",
    reason: "two busy processors cost each other as much with two processes",
  },
  {
    bench: "open-loop",
    figure: "requests that take 1 ms at most in the service",
    reason: "the load keeps one of two processors busy",
  },
  {
    bench: "open-loop",
    figure: "p99 at the client",
    reason: "the same: Fastify alone, which answers a constant, does not reach it either",
  },
  {
    bench: "limit",
    figure: "limit",
    reason: "most of either's time is HTTP: Fastify alone is not much more than twice Express",
  },
  {
    bench: "monitor",
    figure: "a ping, CPU of all three",
    reason: "spread over a minute; in a burst (`bench:pings`) it is a fourth",
  },
  {
    bench: "monitor",
    figure: "from such a deadline to its event, p99",
    reason:
      "measured before alerts had an owner in Postgres alone; `bench:pings` has the same since",
  },
  { bench: "monitors", figure: "the list is shown after", reason: "a tenth at most" },
  {
    bench: "pings",
    figure: "a ping of a burst, CPU of all processes",
    reason: "two thirds are its HTTP in the program; the last two of five bursts took 0.126 ms",
  },
];

/** The page with what the results say between its marks. Throws if a figure of a sentence, or a reason, is not there. */
export function withMeasured(page: string, all: All): string {
  const read = createRead(all);
  const runs = Object.entries(headlines).map(([names, headline]) => {
    const benches = names.split(", ");
    const links = benches.map((bench) => {
      return `[${bench.replace("by-hand", "by hand")}](../bench/results/${bench}.md)`;
    });
    const dates = benches.map((bench) => {
      const ofRuns = runsOf(all, bench).map(({ date }) => date);
      return ofRuns.toSorted().at(-1);
    });
    return `| ${links.join(", ")} | ${headline(read)} | ${[...new Set(dates)].join(", ")} |`;
  });
  const blocks = {
    runs: ["| Bench | Figure | Date |", "| --- | --- | --- |", ...runs],
    peers: comparisons.map((sentence) => `- ${sentence(read)}`),
    aims: missedAims(all),
  };
  return Object.entries(blocks).reduce(
    (text, [block, lines]) => withBlock(text, block, lines),
    page,
  );
}

/** The page of one bench with its runs between the marks. */
export function withRuns(page: string, { runs }: Results): string {
  return withBlock(page, "runs", runs.flatMap(describeRun).slice(0, -1));
}

function withBlock(page: string, block: string, lines: readonly string[]): string {
  const startMark = `<!-- ${block}: written by bench/write.ts -->\n`;
  const endMark = `<!-- end of ${block} -->\n`;
  const start = page.indexOf(startMark);
  const end = page.indexOf(endMark);
  if (start < 0 || end < start) throw new Error(`a page has no marks of ${block}`);
  return `${page.slice(0, start)}${startMark}\n${lines.join("\n")}\n\n${page.slice(end)}`;
}

function runsOf(all: All, bench: string): Run[] {
  const runs = all.get(bench)?.runs ?? [];
  if (runs.length === 0) throw new Error(`bench/results/${bench}.json has no run`);
  return runs;
}

function createRead(all: All): Read {
  return (bench, name, setting) => {
    const runs = runsOf(all, bench).filter(({ settings }) =>
      setting === undefined ? settings.length === 0 : settings.includes(setting),
    );
    const figure = runs.flatMap(({ figures }) => figures).find((one) => one.name === name);
    if (figure === undefined)
      throw new Error(`bench/results/${bench}.json has no figure "${name}"`);
    return textOf(figure);
  };
}

const textOf = ({ value }: Figure) => (value === null ? "not measured" : toText(value, {}));

const isMissed = ({ verdict }: Figure) => verdict === "missed" || verdict === "close";

/** Of the runs without settings: those with some have figures that no aim is about. */
function missedOf({ runs }: Results): Figure[] {
  return runs
    .filter(({ settings }) => settings.length === 0)
    .flatMap(({ figures }) => figures.filter(isMissed));
}

function missedAims(all: All): string[] {
  const missed = [...all.values()].flatMap((results) =>
    missedOf(results).map((figure) => ({
      figure,
      bench: results.bench,
      reason: reasonOf(results.bench, figure),
    })),
  );
  const groups = Map.groupBy(missed, ({ bench, figure, reason }) => {
    return `| \`bench:${bench}\` | ${reason} | ${figure.aim}`;
  });
  const rows = [...groups.values()].map((group) => {
    const { bench, figure, reason } = group[0] as (typeof missed)[number];
    const names = group.map((one) => one.figure.name).join("; ");
    const values = group.map((one) => textOf(one.figure)).join("; ");
    return `| \`bench:${bench}\` | ${names}: ${figure.aim} | ${values} | ${reason} |`;
  });
  return ["| Command | Aim | Published | Reason |", "| --- | --- | --- | --- |", ...rows];
}

function reasonOf(bench: string, { name }: Figure): string {
  const found = reasons.find((one) => one.bench === bench && name.startsWith(one.figure));
  if (found !== undefined) return found.reason;
  throw new Error(`bench/page.ts has no reason why bench:${bench} misses "${name}"`);
}

function describeRun(run: Run): string[] {
  const { title, date, commit, machine, node, load, settings, source } = run;
  const noise = run.isQuiet === false ? ", others used the processors" : "";
  const origin = [
    `Commit ${commit.replace(/[0-9a-f]{8}/, "`$&`")}`,
    machine,
    node && `Node ${node}`,
    `load ${load}${noise}`,
    settings.length > 0 && `\`${settings.join(" ")}\``,
    source === "run" ? undefined : source,
  ];
  const heading = title === undefined ? `## ${date}` : `## ${date}, ${title}`;
  const figures = run.figures.map(
    (figure) =>
      `| ${figure.name} | ${withUnit(figure)} | ${figure.aim ?? "–"} | ${verdictOf(figure)} |`,
  );
  const list = ["| Figure | Value | Aim | Verdict |", "| --- | --- | --- | --- |", ...figures, ""];
  return [
    heading,
    "",
    `${origin.filter(Boolean).join("; ")}.`,
    "",
    ...(figures.length > 0 ? list : []),
    ...run.tables.flatMap(describeTable),
  ];
}

const withUnit = ({ value, unit }: Figure) =>
  value === null ? "not measured" : toText(value, unit === undefined ? {} : { unit });

const verdictOf = ({ verdict }: Figure) => {
  if (verdict === undefined) return "–";
  return verdict === "close" ? "missed by a tenth at most" : verdict;
};

function describeTable({ title, rows }: { title: string; rows: readonly Row[] }): string[] {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => `| ${columns.map((name) => cellOf(row[name])).join(" | ")} |`);
  const head = [`| ${columns.join(" | ")} |`, `| ${columns.map(() => "---").join(" | ")} |`];
  return [`${title}:`, "", ...head, ...lines, ""];
}

function cellOf(cell: string | number | undefined): string {
  return typeof cell === "number" ? toText(cell, {}) : (cell ?? "");
}
