/** Reads what is known of a commit from GitHub's API, or one that answers as it does. */
import pRetry from "p-retry";
import { z } from "zod";
import { CiTrouble } from "#ci/finding.ts";
import { parseJson, readBody, withoutSecret } from "#kernel/body.ts";
import { Agent, errors, request } from "#kernel/http.ts";
import type { CommitStatus, Repository } from "./repository.ts";

export type Commit = { repository: Repository; sha: string };

/** They throw `CiTrouble`. */
export type CommitApi = {
  /** Statuses and check runs; undefined: the API does not know the commit. */
  readStatuses: (commit: Commit) => Promise<CommitStatus[] | undefined>;
  /** True if the commit is the branch's newest one or before it; false also for a branch that does not exist. */
  isOnBranch: (commit: Commit, branch: string) => Promise<boolean>;
};

/** Conclusions of a check run that are no failure. */
const conclusions: Record<string, CommitStatus["state"]> = {
  success: "green",
  neutral: "void",
  skipped: "void",
  // A run of the same name takes its place.
  cancelled: "void",
  stale: "void",
};

/** States of statuses; `skipped` and `warning` are Gitea's. */
const states: Record<string, CommitStatus["state"]> = {
  success: "green",
  pending: "pending",
  skipped: "void",
  warning: "void",
};

const CheckRuns = z.object({
  total_count: z.number(),
  check_runs: z.array(
    z.object({ name: z.string(), status: z.string(), conclusion: z.string().nullish() }),
  ),
});

/** Newest first; only the first one of a context counts. */
const Statuses = z.object({
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

/** `total_commits` counts the commits of the second one that the first one lacks. */
const Comparison = z.object({ total_commits: z.number() });

const perPage = 100;
const mostPages = 10;

export function createCommitApi(access: Access): CommitApi {
  const ask = createAsk(access);
  // Gitea and Forgejo have this path; they have statuses alone.
  const mayLackRuns = access.apiUrl.endsWith("/api/v1");
  return {
    async readStatuses({ repository: { owner, name }, sha }) {
      const base = `repos/${owner}/${name}/commits/${sha}`;
      const [runs, statuses] = await Promise.all([
        readPages((page) => ask(`${base}/check-runs?filter=latest&${page}`), runsIn),
        readPages((page) => ask(`${base}/status?${page}`), statusesIn),
      ]);
      if (statuses === undefined) return undefined;
      if (runs === undefined && !mayLackRuns) {
        throw new CiTrouble("it answers 404 to the question for check runs");
      }
      return [...(runs ?? []), ...latestOf(statuses)];
    },

    async isOnBranch({ repository: { owner, name }, sha }, branch) {
      const range = `${encodeURIComponent(branch)}...${sha}`;
      // The first page has the changed files, which nobody reads here.
      const body = await ask(`repos/${owner}/${name}/compare/${range}?per_page=1&page=2`);
      return body !== undefined && parse(Comparison, body).total_commits === 0;
    },
  };
}

/** `total`: of all pages; absent: it is not known. */
type Page = { statuses: CommitStatus[]; total?: number };

/** undefined: no such commit. The last page is one without items. Throws `CiTrouble` for a list that is cut short. */
async function readPages(
  ask: (page: string) => Promise<unknown>,
  read: (body: unknown) => Page,
): Promise<CommitStatus[] | undefined> {
  const found: CommitStatus[] = [];
  for (let page = 1; page <= mostPages; page += 1) {
    // GitHub has the one name for it, Gitea the other.
    const body = await ask(`per_page=${perPage}&limit=${perPage}&page=${page}`);
    if (body === undefined && page === 1) return undefined;
    const { statuses, total } = body === undefined ? cutShort : read(body);
    found.push(...statuses);
    if (statuses.length === 0) return requireWhole(found, total);
    if (total !== undefined && found.length >= total) return found;
  }
  throw new CiTrouble(`the commit has more than ${mostPages} pages of statuses`);
}

const cutShort: Page = { statuses: [], total: Number.POSITIVE_INFINITY };

function requireWhole(found: CommitStatus[], total = 0): CommitStatus[] {
  if (found.length >= total) return found;
  throw new CiTrouble(`its list of the commit's checks ends after ${found.length}`);
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
  return stateOf(conclusions, conclusion);
}

function statusesIn(body: unknown): Page {
  const { statuses } = parse(Statuses, body);
  return {
    statuses: (statuses ?? []).map(({ context, state, status }) => ({
      name: context,
      state: stateOf(states, state ?? status ?? ""),
    })),
  };
}

/** Maps an unknown word to no success. */
function stateOf(
  known: Record<string, CommitStatus["state"]>,
  word: string,
): CommitStatus["state"] {
  return Object.hasOwn(known, word) ? (known[word] ?? "red") : "red";
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const { data } = schema.safeParse(body);
  if (data === undefined) throw new CiTrouble("its answer is not that of a commit's checks");
  return data;
}

/** `timeoutMs`: of one request. */
type Access = { apiUrl: string; token: string; timeoutMs?: number };

/** The JSON of an answer; undefined for 404 and 422, which an unknown commit has. Throws `CiTrouble`. */
type Ask = (path: string) => Promise<unknown>;

/** 100 check runs have about half a megabyte. */
const largestAnswer = 4 * 1_024 * 1_024;

export function createAsk(api: Access): Ask {
  const { timeoutMs = 8_000 } = api;
  const dispatcher = new Agent({ connect: { timeout: timeoutMs }, maxResponseSize: largestAnswer });
  const asked = { ...api, timeoutMs };
  return (path) => pRetry(() => ask(`${api.apiUrl}/${path}`, asked, dispatcher), attempts);
}

const attempts = { retries: 2, minTimeout: 300, shouldRetry: isTransient };

function isTransient({ error }: { error: Error }): boolean {
  return error instanceof CiTrouble && error.isBrief;
}

async function ask(
  address: string,
  { token, timeoutMs }: Required<Access>,
  dispatcher: Agent,
): Promise<unknown> {
  const { host } = new URL(address);
  try {
    const { statusCode, body } = await request(address, {
      dispatcher,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        accept: "application/vnd.github+json",
        "x-github-api-version": "2022-11-28",
        ...(token !== "" && { authorization: `Bearer ${token}` }),
      },
    });
    const whole = await readBody(body, largestAnswer);
    if (whole === undefined) throw new errors.ResponseExceededMaxSizeError();
    const answer = parseJson(withoutSecret(whole, token));
    if (statusCode === 404 || statusCode === 422) return undefined;
    if (statusCode !== 200) throw refuseStatus(statusCode, host);
    if (answer === undefined) throw new CiTrouble(`${host} answers no JSON`);
    return answer;
  } catch (error) {
    if (error instanceof CiTrouble) throw error;
    const { name, code } = error as NodeJS.ErrnoException;
    const why = name === "TimeoutError" ? `no answer in ${timeoutMs / 1_000} s` : (code ?? name);
    const isBrief = code !== "UND_ERR_RES_EXCEEDED_MAX_SIZE";
    throw new CiTrouble(`${host} cannot be asked (${why})`, { isBrief });
  }
}

function refuseStatus(status: number, host: string): CiTrouble {
  if (status === 401 || status === 403) {
    const detail = `${host} answered ${status}: ci.commit.token gives no access, or has no requests left`;
    return new CiTrouble(detail);
  }
  const isBrief = status === 429 || status >= 500;
  return new CiTrouble(`${host} answered ${status}`, { isBrief });
}
