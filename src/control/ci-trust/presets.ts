/** The claims of CI systems, by the names that each of them has for the same facts. */
import type { PresetName } from "#control/ci-trust-config.ts";
import type { CiRun } from "#kernel/roles.ts";
import { cleanText } from "#kernel/text.ts";

/** Claims of a verified token: any JSON. */
export type Claims = Readonly<Record<string, unknown>>;

/** A job, as its token describes it; absent: it does not say. */
export type JobFacts = {
  repositoryId?: string | undefined;
  workflow?: string | undefined;
  ref?: string | undefined;
  environment?: string | undefined;
  /** Why the job runs. */
  event?: string | undefined;
  isPullRequest: boolean;
  run: CiRun;
};

type Preset = {
  /** The events that only who may push to the repository, or run its jobs, can cause; undefined: any. */
  events: readonly string[] | undefined;
  read: (claims: Claims) => JobFacts;
};

export const presets: Record<PresetName, Preset> = {
  github: {
    events: [
      "push",
      "workflow_dispatch",
      "schedule",
      "release",
      "repository_dispatch",
      "deployment",
    ],
    read: (claims) => {
      const repository = textOf(claims, "repository");
      const workflow = pathBetween(textOf(claims, "workflow_ref"), `${repository}/`);
      const ref = textOf(claims, "ref");
      const event = textOf(claims, "event_name");
      return {
        repositoryId: textOf(claims, "repository_id"),
        ...{ workflow, ref, event },
        environment: textOf(claims, "environment"),
        isPullRequest:
          /^pull_request/.test(event ?? "") ||
          (ref ?? "").startsWith("refs/pull/") ||
          textOf(claims, "head_ref") !== undefined,
        run: runOf({ repository, workflow, ref }, claims, ["run_id", "sha", "actor"]),
      };
    },
  },
  gitlab: {
    events: ["push", "web", "schedule", "api", "trigger", "pipeline", "parent_pipeline"],
    read: (claims) => {
      const repository = textOf(claims, "project_path");
      const uri = textOf(claims, "ci_config_ref_uri");
      const workflow = pathBetween(uri?.replace(/^[^/]+\//, ""), `${repository}//`);
      const kind = textOf(claims, "ref_type") === "tag" ? "tags" : "heads";
      const name = textOf(claims, "ref");
      const ref = textOf(claims, "ref_path") ?? (name && `refs/${kind}/${name}`);
      const event = textOf(claims, "pipeline_source");
      return {
        repositoryId: textOf(claims, "project_id"),
        ...{ workflow, ref, event },
        environment: textOf(claims, "environment"),
        isPullRequest:
          /merge_request|pull_request/.test(event ?? "") ||
          (ref ?? "").startsWith("refs/merge-requests/") ||
          // It has the ref and the project of its parent, which may be of a merge request: that is never protected.
          (event === "parent_pipeline" && textOf(claims, "ref_protected") !== "true"),
        run: runOf({ repository, workflow, ref }, claims, ["pipeline_id", "sha", "user_login"]),
      };
    },
  },
  other: {
    events: undefined,
    read: (claims) => ({
      isPullRequest: false,
      run: runOf({ repository: textOf(claims, "sub") }, claims, []),
    }),
  },
};

/** A claim as text, also a number. undefined: it is absent, empty, or something else. */
export function textOf(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The path of the workflow's file in this repository, which follows `start`; undefined: it is of another one. */
function pathBetween(given: string | undefined, start: string): string | undefined {
  if (given?.startsWith(start) !== true) return undefined;
  const end = given.indexOf("@", start.length);
  return given.slice(start.length, end < 0 ? undefined : end);
}

const longest = 200;

/** Returns the job as history has it, without control characters. The names are of the claims with run, commit and person. */
function runOf(
  known: {
    repository: string | undefined;
    workflow?: string | undefined;
    ref?: string | undefined;
  },
  claims: Claims,
  [run = "", commit = "", person = ""]: readonly string[],
): CiRun {
  const found = {
    ...known,
    run: textOf(claims, run),
    commit: textOf(claims, commit),
    person: textOf(claims, person),
  };
  const cleaned = Object.entries(found).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, cleanText(text, longest)]],
  );
  return { repository: "not named", ...Object.fromEntries(cleaned) };
}
