/** GitHub's answers about the checks of commits. Their types are those of GitHub's own OpenAPI description. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { components } from "@octokit/openapi-types";
import { onTestFinished } from "vitest";

type CheckRun = Pick<components["schemas"]["check-run"], "name" | "status" | "conclusion">;
type Status = Pick<components["schemas"]["simple-commit-status"], "context" | "state">;
type CombinedStatus = Pick<
  components["schemas"]["combined-commit-status"],
  "state" | "sha" | "total_count"
> & { statuses: Status[] };

export type CommitChecks = { runs?: CheckRun[]; statuses?: Status[] };

export type FakeGithub = {
  apiUrl: string;
  /** By `owner/name@sha`; a commit that is not there is unknown. A function answers in its own way. */
  commits: Map<string, CommitChecks | ((outgoing: ServerResponse) => void)>;
  requests: { path: string; authorization: string | undefined }[];
};

type Options = {
  /** Servers that answer as GitHub does may know no check runs. */
  hasCheckRuns?: boolean;
  /** The longest page, whatever is asked for. */
  longestPage?: number;
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
  return { apiUrl: `http://127.0.0.1:${port}`, commits, requests };
}

const route = /^\/repos\/([^/]+)\/([^/]+)\/commits\/([^/]+)\/(check-runs|status)$/;

function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { commits, ...options }: Pick<FakeGithub, "commits"> & Options,
): void {
  const { pathname, searchParams } = new URL(incoming.url ?? "", "http://github");
  const [, owner, name, sha = "", what] = route.exec(pathname) ?? [];
  const isAsked =
    incoming.method === "GET" &&
    incoming.headers.accept === "application/vnd.github+json" &&
    incoming.headers["x-github-api-version"] === "2022-11-28" &&
    (incoming.headers["user-agent"] ?? "") !== "";
  if (!isAsked || what === undefined) return send(outgoing, 400, { message: "Bad request" });
  const commit = commits.get(`${owner}/${name}@${sha}`);
  if (typeof commit === "function") return commit(outgoing);
  const hasAnswer = what === "status" || options.hasCheckRuns !== false;
  if (!hasAnswer) return send(outgoing, 404, { message: "Not Found" });
  // GitHub answers 422 to a commit that it does not know, in a repository that it does.
  if (commit === undefined)
    return send(outgoing, 422, { message: `No commit found for SHA: ${sha}` });
  const page = pageOf(searchParams, options);
  send(outgoing, 200, what === "status" ? statusOf(commit, sha, page) : runsOf(commit, page));
}

type Page = { first: number; size: number };

function pageOf(query: URLSearchParams, { longestPage = 100 }: Options): Page {
  const size = Math.min(longestPage, Number(query.get("per_page") ?? 30));
  return { first: (Number(query.get("page") ?? 1) - 1) * size, size };
}

function runsOf({ runs = [] }: CommitChecks, { first, size }: Page) {
  return { total_count: runs.length, check_runs: runs.slice(first, first + size) };
}

/** `state` is pending without any status, as at GitHub. */
function statusOf({ statuses = [] }: CommitChecks, sha: string, { first, size }: Page) {
  const isGreen = statuses.length > 0 && statuses.every(({ state }) => state === "success");
  return {
    state: isGreen ? "success" : "pending",
    sha,
    total_count: statuses.length,
    statuses: statuses.slice(first, first + size),
  } satisfies CombinedStatus;
}

function send(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
