/** Statuses and check runs of commits, over HTTP. */
import { describe, expect, it } from "vitest";
import { createCommitApi } from "#ci/commit/api.ts";
import { readRepository } from "#ci/commit/repository.ts";
import { CiTrouble } from "#ci/finding.ts";
import { type FakeGithub, startFakeGithub } from "../../support/ci/fake-github.ts";
import { serveAnswer, writeWithoutEnd } from "../../support/servers/answering-server.ts";

const sha = "ab".repeat(20);
const name = `acme/gateway@${sha}`;
const repository = readRepository("https://github.com/acme/gateway") ?? neverRead();
const commit = { repository, sha };

function neverRead(): never {
  throw new Error("the address is one");
}

const readFrom = (apiUrl: string, token = "") =>
  createCommitApi({ apiUrl, token }).readStatuses(commit);

const run = (of: string, conclusion: "success" | "failure" | "skipped" | "neutral" | null) => ({
  name: of,
  status: conclusion === null ? ("in_progress" as const) : ("completed" as const),
  conclusion,
});

async function githubWith(checks: Parameters<FakeGithub["commits"]["set"]>[1]) {
  const github = await startFakeGithub();
  github.commits.set(name, checks);
  return github;
}

describe("GitHub", () => {
  it("answers with check runs and statuses", async () => {
    const github = await githubWith({
      runs: [run("build", "success"), run("test", null), run("docs", "skipped")],
      statuses: [
        { context: "ci/legacy", state: "success" },
        { context: "ci/other", state: "error" },
      ],
    });

    expect(await readFrom(github.apiUrl)).toEqual([
      { name: "build", state: "green" },
      { name: "test", state: "pending" },
      { name: "docs", state: "void" },
      { name: "ci/legacy", state: "green" },
      { name: "ci/other", state: "red" },
    ]);
  });

  it("has no statuses of a commit without any: its state is pending then, which says nothing", async () => {
    const github = await githubWith({});

    expect(await readFrom(github.apiUrl)).toEqual([]);
  });

  it("does not know a commit", async () => {
    const github = await startFakeGithub();

    expect(await readFrom(github.apiUrl)).toBeUndefined();
  });

  it("is asked for every page, however short its pages are", async () => {
    const github = await startFakeGithub({ longestPage: 30 });
    const runs = Array.from({ length: 95 }, (_, i) => run(`job-${i}`, "success"));
    github.commits.set(name, { runs: [...runs, run("last", "failure")] });

    const statuses = await readFrom(github.apiUrl);

    expect(statuses).toHaveLength(96);
    expect(statuses?.at(-1)).toEqual({ name: "last", state: "red" });
  });

  it("is asked with the token, and without one when there is none", async () => {
    const github = await githubWith({});

    await readFrom(github.apiUrl, "a-token");
    await readFrom(github.apiUrl);

    const sent = github.requests.map(({ authorization }) => authorization);
    expect(sent).toEqual(["Bearer a-token", "Bearer a-token", undefined, undefined]);
  });
});

describe("a branch", () => {
  const isOn = async (branch: string, branches: Record<string, number>) => {
    const github = await githubWith({ branches });
    return createCommitApi({ apiUrl: github.apiUrl, token: "" }).isOnBranch(commit, branch);
  };

  it.each([
    ["main", 0, true],
    ["release/v2 & more", 0, true],
    ["main", 3, false],
  ])("%s that lacks %i commits before this one has it: %s", async (branch, ahead, expected) => {
    expect(await isOn(branch, { [branch]: ahead })).toBe(expected);
  });

  it("that is not there has no commit", async () => {
    expect(await isOn("gone", { main: 0 })).toBe(false);
  });
});

describe("Gitea", () => {
  const startGitea = async (statuses: { context: string; state: string }[]) => {
    const gitea = await startFakeGithub({ isGitea: true, longestPage: 30 });
    gitea.commits.set(name, { statuses } as Parameters<FakeGithub["commits"]["set"]>[1]);
    return gitea;
  };

  it("has no check runs", async () => {
    const gitea = await startGitea([{ context: "build", state: "success" }]);

    expect(await readFrom(gitea.apiUrl)).toEqual([{ name: "build", state: "green" }]);
  });

  it("lists a status again: the newest one counts, which comes first", async () => {
    const gitea = await startGitea([
      { context: "build", state: "success" },
      { context: "build", state: "failure" },
    ]);

    expect(await readFrom(gitea.apiUrl)).toEqual([{ name: "build", state: "green" }]);
  });

  it("is asked for every page, though it tells of none that follows", async () => {
    const green = Array.from({ length: 30 }, (_, i) => ({ context: `job-${i}`, state: "success" }));
    const gitea = await startGitea([...green, { context: "last", state: "failure" }]);

    const statuses = await readFrom(gitea.apiUrl);

    expect(statuses?.at(-1)).toEqual({ name: "last", state: "red" });
  });

  it.each(["skipped", "warning"])(
    "has the state %s, which is neither good nor bad",
    async (state) => {
      const gitea = await startGitea([{ context: "docs", state }]);

      expect(await readFrom(gitea.apiUrl)).toEqual([{ name: "docs", state: "void" }]);
    },
  );
});

describe("a list that is cut short", () => {
  it("says nothing: what is missing might be red", async () => {
    const github = await startFakeGithub({ total: 3 });
    github.commits.set(name, { runs: [run("build", "success")] });

    await expect(readFrom(github.apiUrl)).rejects.toThrow(/ends after 1/);
  });

  it("is none of GitHub's check runs alone", async () => {
    const github = await githubWith((outgoing) => {
      const { url = "" } = outgoing.req;
      const isStatus = url.includes("/status");
      const codecov = [{ context: "codecov", state: "success" }];
      const body = { statuses: url.endsWith("page=1") ? codecov : [] };
      outgoing.writeHead(isStatus ? 200 : 404).end(JSON.stringify(isStatus ? body : {}));
    });

    await expect(readFrom(github.apiUrl)).rejects.toThrow(/404 to the question for check runs/);
  });
});

describe("trouble", () => {
  it.each([401, 403])("%s says that the token gives no access", async (status) => {
    const github = await githubWith((outgoing) => outgoing.writeHead(status).end("{}"));

    const reading = readFrom(github.apiUrl, "a-secret-token");

    await expect(reading).rejects.toThrow(/ci\.commit\.token gives no access/);
    await expect(reading).rejects.not.toThrow(/a-secret-token/);
  });

  it("of a moment is tried again", async () => {
    let failures = 0;
    const github = await startFakeGithub();
    const checks = { statuses: [{ context: "build", state: "success" as const }] };
    github.commits.set(name, (outgoing) => {
      failures += 1;
      if (failures === 2) github.commits.set(name, checks);
      outgoing.writeHead(502).end();
    });

    expect(await readFrom(github.apiUrl)).toEqual([{ name: "build", state: "green" }]);
  });

  it.each([
    ["a page for browsers", "<!doctype html><p>Sign in</p>"],
    ["another JSON", '{"total_count":1}'],
    ["a list", "[]"],
    ["null", "null"],
  ])("is %s", async (_, body) => {
    const github = await githubWith((outgoing) => outgoing.writeHead(200).end(body));

    await expect(readFrom(github.apiUrl)).rejects.toBeInstanceOf(CiTrouble);
  });

  it("is an answer without end: reading stops", async () => {
    const written = { bytes: 0 };
    const apiUrl = await serveAnswer((outgoing) => writeWithoutEnd(outgoing, written));

    await expect(readFrom(apiUrl)).rejects.toBeInstanceOf(CiTrouble);

    expect(written.bytes).toBeLessThan(200_000_000);
  });

  it("is an answer that never comes", async () => {
    const apiUrl = await serveAnswer(() => {});
    const api = createCommitApi({ apiUrl, token: "", timeoutMs: 100 });

    await expect(api.readStatuses(commit)).rejects.toThrow(
      /cannot be asked \(no answer in 0\.1 s\)/,
    );
  });

  it("is a redirect: nobody else gets the token", async () => {
    const github = await githubWith((outgoing) =>
      outgoing.writeHead(302, { location: "http://127.0.0.1:1/elsewhere" }).end(),
    );

    await expect(readFrom(github.apiUrl, "a-token")).rejects.toThrow(/answered 302/);
  });
});
