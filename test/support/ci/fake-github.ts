/** GitHub's answers about the checks of commits. Their types are those of GitHub's own OpenAPI description. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { components } from "@octokit/openapi-types";
import { onTestFinished } from "vitest";

type CheckRun = Pick<components["schemas"]["check-run"], "name" | "status" | "conclusion">;
type Status = {
  context: string;
  /** The last two are Gitea's. */
  state: components["schemas"]["simple-commit-status"]["state"] | "skipped" | "warning";
};
type CombinedStatus = Pick<
  components["schemas"]["combined-commit-status"],
  "state" | "sha" | "total_count"
> & { statuses: Status[] };

type Comparison = Pick<components["schemas"]["commit-comparison"], "status" | "total_commits">;

/** `branches`: how many commits each lacks to have this one. */
type CommitChecks = {
  runs?: CheckRun[];
  statuses?: Status[];
  branches?: Record<string, number>;
};

export type FakeGithub = {
  apiUrl: string;
  /** By `owner/name@sha`; a commit that is not there is unknown. A function answers in its own way. */
  commits: Map<string, CommitChecks | ((outgoing: ServerResponse) => void)>;
  requests: { path: string; authorization: string | undefined }[];
};

type Options = {
  /**
   * As Gitea answers: no check runs, another name for the length of a page, and a total that is that of the page; its
   * states are more.
   */
  isGitea?: boolean;
  /** The longest page, whatever is asked for. */
  longestPage?: number;
  /** What it says how many there are, where that is not true. */
  total?: number;
};

/** For the test that asks for it. */
export async function startFakeGithub(options: Options = {}): Promise<FakeGithub> {
  const commits: FakeGithub["commits"] = new Map();
  const requests: FakeGithub["requests"] = [];
  const server = createServer((incoming, outgoing) => {
    const { url: path = "", headers } = incoming;
    requests.push({ path, authorization: headers.authorization });
    answer(incoming, outgoing, { commits, ...options });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const api = options.isGitea === true ? "/api/v1" : "";
  return { apiUrl: `http://127.0.0.1:${port}${api}`, commits, requests };
}

const route = /^(?:\/api\/v1)?\/repos\/([^/]+)\/([^/]+)\/commits\/([^/]+)\/(check-runs|status)$/;
const compareRoute = /^(?:\/api\/v1)?\/repos\/([^/]+)\/([^/]+)\/compare\/([^/]+)\.\.\.([^/]+)$/;

function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  github: Pick<FakeGithub, "commits"> & Options,
): void {
  const asked = questionOf(incoming);
  const commit = asked && github.commits.get(`${asked.owner}/${asked.name}@${asked.sha}`);
  if (typeof commit === "function") {
    commit(outgoing);
    return;
  }
  const [status, body] = asked === undefined ? badRequest : reply(asked, commit, github);
  outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

type Question = { owner: string; name: string; sha: string; what: string; query: URLSearchParams };
type Reply = [status: number, body: unknown];

const badRequest: Reply = [400, { message: "Bad request" }];

/** undefined: not as GitHub's documentation says. */
function questionOf({ method, url = "", headers }: IncomingMessage): Question | undefined {
  const { pathname, searchParams: query } = new URL(url, "http://github");
  const [, owner = "", name = "", sha = "", what] = route.exec(pathname) ?? compareParts(pathname);
  const isAsked =
    method === "GET" &&
    headers.accept === "application/vnd.github+json" &&
    headers["x-github-api-version"] === "2022-11-28" &&
    (headers["user-agent"] ?? "") !== "";
  return isAsked && what !== undefined ? { owner, name, sha, what, query } : undefined;
}

/** As those of `route`: `what` is the branch. */
function compareParts(pathname: string): string[] {
  const [all = "", owner = "", name = "", branch = "", sha = ""] =
    compareRoute.exec(pathname) ?? [];
  return all === "" ? [] : [all, owner, name, sha, `branch ${decodeURIComponent(branch)}`];
}

function reply(
  { sha, what, query }: Question,
  commit: CommitChecks | undefined,
  options: Options,
): Reply {
  const hasAnswer = what !== "check-runs" || options.isGitea !== true;
  if (!hasAnswer) return [404, { message: "Not Found" }];
  // GitHub answers 422 to a commit that it does not know, in a repository that it does.
  if (commit === undefined) return [422, { message: `No commit found for SHA: ${sha}` }];
  if (what.startsWith("branch ")) return comparisonOf(commit.branches?.[what.slice(7)]);
  const page = pageOf(query, options);
  return [
    200,
    what === "status" ? statusOf(commit, { sha, page, ...options }) : runsOf(commit, page, options),
  ];
}

function comparisonOf(ahead: number | undefined): Reply {
  if (ahead === undefined) return [404, { message: "Not Found" }];
  const status = ahead === 0 ? ("behind" as const) : ("diverged" as const);
  return [200, { status, total_commits: ahead } satisfies Comparison];
}

type Page = { first: number; size: number };

function pageOf(query: URLSearchParams, { longestPage = 100, isGitea = false }: Options): Page {
  const size = Math.min(longestPage, Number(query.get(isGitea ? "limit" : "per_page") ?? 30));
  return { first: (Number(query.get("page") ?? 1) - 1) * size, size };
}

function runsOf({ runs = [] }: CommitChecks, { first, size }: Page, { total }: Options) {
  return { total_count: total ?? runs.length, check_runs: runs.slice(first, first + size) };
}

/** `state` is pending without any status, as at GitHub. */
function statusOf(
  { statuses = [] }: CommitChecks,
  { sha, page: { first, size }, isGitea = false }: Options & { sha: string; page: Page },
) {
  const isGreen = statuses.length > 0 && statuses.every(({ state }) => state === "success");
  const shown = statuses.slice(first, first + size);
  return {
    state: isGreen ? "success" : "pending",
    sha,
    total_count: isGitea ? shown.length : statuses.length,
    statuses: shown,
  } satisfies CombinedStatus;
}
