/** Compares a verified token with the rows of `control.ci_trust`. Pure. */
import type { TrustRow } from "#control/ci-trust-config.ts";
import type { CiRun } from "#kernel/roles.ts";
import { cleanText } from "#kernel/text.ts";
import { type Claims, type JobFacts, presets, textOf } from "./presets.ts";

type RefusalCode =
  | "wrong_audience"
  | "wrong_repository"
  | "pull_request"
  | "wrong_event"
  | "wrong_workflow"
  | "wrong_ref"
  | "wrong_environment"
  | "wrong_claim";

type JobRefusal = { code: RefusalCode; detail: string };

type Match = { row: TrustRow; run: CiRun } | { refusal: JobRefusal };

/** The row that trusts the token's job; else the refusal of the row that came nearest. All rows are of its issuer. */
export function findTrusted(claims: Claims, rows: readonly TrustRow[], publicUrl: string): Match {
  let nearest = { passed: -1, refusal: noRow };
  for (const row of rows) {
    const facts = presets[row.preset].read(claims);
    const tests = testsOf({ row, facts, claims, publicUrl });
    const failed = tests.findIndex(([, , passes]) => !passes);
    if (failed < 0) return { row, run: facts.run };
    const [code = "wrong_repository", detail = ""] = tests[failed] ?? [];
    if (failed > nearest.passed) nearest = { passed: failed, refusal: { code, detail } };
  }
  return { refusal: nearest.refusal };
}

const noRow: JobRefusal = {
  code: "wrong_repository",
  detail: "control.ci_trust has no row for this issuer",
};

type Compared = { row: TrustRow; facts: JobFacts; claims: Claims; publicUrl: string };

type Test = readonly [code: RefusalCode, detail: string, passes: boolean];

/** In the order in which they narrow down whose job it is. A detail has what the token says, not what the row wants. */
function testsOf({ row, facts, claims, publicUrl }: Compared): Test[] {
  const { audience = publicUrl } = row;
  const events = row.events ?? presets[row.preset].events;
  const { repository } = facts.run;
  const repositoryId = `${repository} with the id ${shown(facts.repositoryId)}`;
  const others = Object.entries(row.claims);
  return [
    ["wrong_audience", describeAudience(claims), hasAudience(claims, audience)],
    [
      "wrong_repository",
      `the token is of the repository ${repositoryId}, which is not trusted: a fork, or one made anew under a name, has an id of its own`,
      isEqual(row.repository_id, facts.repositoryId),
    ],
    [
      "pull_request",
      `the token is, or may be, of a pull or merge request (${shown(facts.event)}): whoever opens one would call here`,
      !facts.isPullRequest,
    ],
    [
      "wrong_event",
      `the event ${shown(facts.event)} is not trusted: others than who may push can cause it, unless the row's events have it`,
      events === undefined || events.includes(facts.event ?? ""),
    ],
    [
      "wrong_workflow",
      `the workflow ${shown(facts.workflow)} of ${repository} is not trusted`,
      row.workflow === undefined || isWorkflow(row.workflow, facts.workflow),
    ],
    [
      "wrong_ref",
      `the ref ${shown(facts.ref)} of ${repository} is not trusted`,
      row.ref === undefined || isRef(row.ref, facts.ref ?? ""),
    ],
    [
      "wrong_environment",
      `the environment ${shown(facts.environment)} of ${repository} is not trusted`,
      isEqual(row.environment, facts.environment),
    ],
    ...others.map(
      ([name, wanted]): Test => [
        "wrong_claim",
        `the claim "${cleanText(name, 100)}" of the token is ${shown(textOf(claims, name))}, which is not trusted`,
        textOf(claims, name) === wanted,
      ],
    ),
  ];
}

/** A claim that the row leaves out may be anything. */
function isEqual(wanted: string | undefined, given: string | undefined): boolean {
  return wanted === undefined || wanted === given;
}

/** It has the token's audience, not those of the rows. */
export const describeAudience = ({ aud }: Claims): string =>
  `the token is for ${cleanText([aud].flat().join(", "), 200)}: ask for one with the row's audience, by default control.public_url (input "audience" of the Action)`;

function hasAudience({ aud }: Claims, wanted: string): boolean {
  return [aud].flat().includes(wanted);
}

/** Of GitHub the name of the file is enough: all workflows lie in one folder. */
function isWorkflow(wanted: string, given: string | undefined): boolean {
  return given === wanted || given === `.github/workflows/${wanted}`;
}

function isRef(wanted: string, given: string): boolean {
  return wanted.endsWith("*") ? given.startsWith(wanted.slice(0, -1)) : given === wanted;
}

function shown(text: string | undefined): string {
  return text === undefined ? "(none)" : cleanText(text, 200);
}
