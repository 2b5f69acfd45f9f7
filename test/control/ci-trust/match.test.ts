import { describe, expect, it } from "vitest";
import { findTrusted } from "#control/ci-trust/match.ts";
import { TrustRow } from "#control/ci-trust-config.ts";
import { audience, githubClaims } from "../../support/ci/ci-issuer.ts";

const publicUrl = "https://rollouts.example.com";

const gitlabClaims = {
  project_id: "815",
  project_path: "team/shop",
  ref: "main",
  ref_type: "branch",
  ref_path: "refs/heads/main",
  pipeline_source: "push",
  pipeline_id: "1519139981",
  ci_config_ref_uri: "gitlab.example.com/team/shop//.gitlab-ci.yml@refs/heads/main",
  sha: "8fe1b322a576d59fe6257052a4107df7dc1b8c78",
  user_login: "ada",
};

const github = (over: object = {}) =>
  TrustRow.parse({ name: "github:acme/shop", audience, repository_id: 4711, ref: "main", ...over });
const gitlab = (over: object = {}) =>
  TrustRow.parse({
    name: "gitlab:team/shop",
    preset: "gitlab",
    audience,
    repository_id: 815,
    ref: "main",
    ...over,
  });
const other = (over: object = {}) =>
  TrustRow.parse({
    ...{ name: "forge", preset: "other", issuer: "https://ci.example.com", audience },
    ...{ claims: { sub: "acme/shop" }, ...over },
  });

const codeOf = (claims: object, ...rows: TrustRow[]) => {
  const found = findTrusted({ aud: audience, ...claims }, rows, publicUrl);
  return "refusal" in found ? found.refusal.code : "trusted";
};

describe("a row for GitHub", () => {
  it.each<[string, object, object, string]>([
    ["a branch by its name", { ref: "main" }, {}, "trusted"],
    ["tags by a pattern", { ref: "refs/tags/v*" }, { ref: "refs/tags/v1.2" }, "trusted"],
    ["no other tags", { ref: "refs/tags/v*" }, { ref: "refs/tags/w1" }, "wrong_ref"],
    [
      "no branch with the name of a tag",
      { ref: "refs/tags/v*" },
      { ref: "refs/heads/v1" },
      "wrong_ref",
    ],
    ["a workflow by the name of its file", { workflow: "rollout.yml" }, {}, "trusted"],
    ["a workflow by its path", { workflow: ".github/workflows/rollout.yml" }, {}, "trusted"],
    ["no workflow whose name ends so", { workflow: "out.yml" }, {}, "wrong_workflow"],
    ["any environment, where the row has none", {}, { environment: "staging" }, "trusted"],
    ["an id that the token has as a number", {}, { repository_id: 4711 }, "trusted"],
    ["no token without an id", {}, { repository_id: undefined }, "wrong_repository"],
    ["no id that is a list", {}, { repository_id: ["4711"] }, "wrong_repository"],
    ["no event of its own list's others", { events: ["release"] }, {}, "wrong_event"],
    [
      "an event that it names",
      { events: "workflow_run" },
      { event_name: "workflow_run" },
      "trusted",
    ],
    [
      "no pull request, whatever it names",
      { events: ["pull_request"] },
      { event_name: "pull_request" },
      "pull_request",
    ],
    [
      "no ref of a pull request",
      { ref: "refs/heads/x*" },
      { ref: "refs/pull/1/merge" },
      "pull_request",
    ],
    ["no token without an event", {}, { event_name: undefined }, "wrong_event"],
    ["further claims", { claims: { repository_owner: "acme" } }, {}, "trusted"],
    ["no other value of them", { claims: { repository_owner: "evil" } }, {}, "wrong_claim"],
    ["no claim of the prototype", { claims: { constructor: "Object" } }, {}, "wrong_claim"],
  ])("admits %s", (_, row, claims, code) => {
    expect(codeOf({ ...githubClaims, ...claims }, github(row))).toBe(code);
  });
});

describe("a row for GitLab", () => {
  it.each<[string, object, object, string]>([
    ["a job of its branch", {}, {}, "trusted"],
    ["its file", { workflow: ".gitlab-ci.yml" }, {}, "trusted"],
    [
      "no file of another project",
      { workflow: ".gitlab-ci.yml" },
      { ci_config_ref_uri: "gitlab.example.com/evil/shop//.gitlab-ci.yml@refs/heads/main" },
      "wrong_workflow",
    ],
    ["no merge request", {}, { pipeline_source: "merge_request_event" }, "pull_request"],
    [
      "no child pipeline of what may be a merge request",
      {},
      { pipeline_source: "parent_pipeline", ref_protected: "false" },
      "pull_request",
    ],
    [
      "a child pipeline of a protected ref",
      {},
      { pipeline_source: "parent_pipeline", ref_protected: "true" },
      "trusted",
    ],
    ["no other project", {}, { project_id: "816" }, "wrong_repository"],
    [
      "a tag of an older server",
      { ref: "refs/tags/v1" },
      { ref_path: undefined, ref: "v1", ref_type: "tag" },
      "trusted",
    ],
    ["no chat", {}, { pipeline_source: "chat" }, "wrong_event"],
  ])("admits %s", (_, row, claims, code) => {
    expect(codeOf({ ...gitlabClaims, ...claims }, gitlab(row))).toBe(code);
  });
});

it("a row for another issuer admits what has its claims", () => {
  expect(codeOf({ sub: "acme/shop" }, other())).toBe("trusted");
  expect(codeOf({ sub: "acme/shop2" }, other())).toBe("wrong_claim");
});

it("the refusal is that of the row that came nearest", () => {
  const rows = [
    github({ repository_id: 1 }),
    github({ ref: "release" }),
    github({ repository_id: 2 }),
  ];

  expect(codeOf(githubClaims, ...rows)).toBe("wrong_ref");
});

it("a row without an audience takes the address of control", () => {
  const row = github({ audience: undefined });

  expect(codeOf({ ...githubClaims, aud: publicUrl }, row)).toBe("trusted");
  expect(codeOf(githubClaims, row)).toBe("wrong_audience");
});

it("what history says of a job has no control characters", () => {
  const claims = { ...githubClaims, aud: audience, actor: "ada\u001b[2J", run_id: "1\n2" };
  const found = findTrusted(claims, [github()], publicUrl);

  expect("run" in found && found.run).toMatchObject({ repository: "acme/shop", run: "1 2" });
  expect(JSON.stringify(found)).not.toContain("u001b");
});
