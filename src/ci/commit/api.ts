/** Reads what is known of a commit from GitHub's API, or one that answers as it does. */
import { z } from "zod";
import { CiTrouble } from "#ci/trouble.ts";
import { type Access, createAsk } from "./ask.ts";
import type { Repository } from "./repository.ts";
import type { CommitStatus } from "./statuses.ts";

export type Commit = { repository: Repository; sha: string };

/** They throw `CiTrouble`. */
export type CommitApi = {
  /** Statuses and check runs; undefined: the API does not know the commit. */
  readStatuses: (commit: Commit) => Promise<CommitStatus[] | undefined>;
  /** Whether the commit is the branch's newest one or before it; false also for a branch that is not there. */
  isOnBranch: (commit: Commit, branch: string) => Promise<boolean>;
};

/** How a check run ended, where it was good; where it has shown nothing (GitHub keeps no branch from merging then). */
const conclusions: Record<string, CommitStatus["state"]> = {
  success: "green",
  neutral: "skipped",
  skipped: "skipped",
};

const CheckRuns = z.object({
  total_count: z.number(),
  check_runs: z.array(
    z.object({ name: z.string(), status: z.string(), conclusion: z.string().nullish() }),
  ),
});

/** Newest first; only the first one of a context counts. */
const Statuses = z.object({
  total_count: z.number().optional(),
  statuses: z
    .array(
      z.object({
        context: z.string(),
        state: z.string().optional(),
        status: z.string().optional(),
      }),
    )
    .nullish(),
});

/** How many commits the second one has that the first one has not. */
const Comparison = z.object({ total_commits: z.number() });

const perPage = 100;
const mostPages = 10;

export function createCommitApi(access: Access): CommitApi {
  const ask = createAsk(access);
  return {
    async readStatuses({ repository: { owner, name }, sha }) {
      const base = `repos/${owner}/${name}/commits/${sha}`;
      const [runs, statuses] = await Promise.all([
        readPages((page) => ask(`${base}/check-runs?filter=latest&${page}`), runsIn),
        readPages((page) => ask(`${base}/status?${page}`), statusesIn),
      ]);
      // A server without check runs answers 404 to the one question, an unknown commit to both.
      if (runs === undefined && statuses === undefined) return undefined;
      return [...(runs ?? []), ...latestOf(statuses ?? [])];
    },

    async isOnBranch({ repository: { owner, name }, sha }, branch) {
      const range = `${encodeURIComponent(branch)}...${sha}`;
      // The first page has the changed files, which nobody reads here.
      const body = await ask(`repos/${owner}/${name}/compare/${range}?per_page=1&page=2`);
      return body !== undefined && parse(Comparison, body).total_commits === 0;
    },
  };
}

type Page = { statuses: CommitStatus[]; total: number };

/** A server may have shorter pages than we ask for: its total says whether there are more. */
async function readPages(
  ask: (page: string) => Promise<unknown>,
  read: (body: unknown) => Page,
): Promise<CommitStatus[] | undefined> {
  const found: CommitStatus[] = [];
  for (let page = 1; page <= mostPages; page += 1) {
    const body = await ask(`per_page=${perPage}&page=${page}`);
    if (body === undefined && page === 1) return undefined;
    const { statuses, total } = read(body);
    found.push(...statuses);
    if (statuses.length === 0 || found.length >= total) return found;
  }
  throw new CiTrouble(`the commit has more than ${mostPages} pages of statuses`);
}

/** Newest first: only the first one of a name counts. */
function latestOf(statuses: readonly CommitStatus[]): CommitStatus[] {
  return [...Map.groupBy(statuses, ({ name }) => name).values()].flatMap(
    ([latest]) => latest ?? [],
  );
}

function runsIn(body: unknown): Page {
  const { check_runs, total_count: total } = parse(CheckRuns, body);
  const statuses = check_runs.map(({ name, status, conclusion }) => ({
    name,
    state: stateOfRun(status, conclusion ?? ""),
  }));
  return { statuses, total };
}

function stateOfRun(status: string, conclusion: string): CommitStatus["state"] {
  if (status !== "completed") return "pending";
  return Object.hasOwn(conclusions, conclusion) ? (conclusions[conclusion] ?? "red") : "red";
}

function statusesIn(body: unknown): Page {
  const { statuses, total_count } = parse(Statuses, body);
  const all = (statuses ?? []).map(({ context, state, status }) => ({
    name: context,
    state: stateOfStatus(state ?? status ?? ""),
  }));
  return { statuses: all, total: total_count ?? all.length };
}

function stateOfStatus(state: string): CommitStatus["state"] {
  if (state === "success") return "green";
  return state === "pending" ? "pending" : "red";
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const { data } = schema.safeParse(body);
  if (data === undefined) throw new CiTrouble("its answer is not that of a commit's checks");
  return data;
}
