/** Shows the evidence that an image has passed CI. */
import type { CiEvidence, CiKind } from "#ci/contract.ts";
import { Notice, Panel } from "#console/web/parts/blocks.tsx";
import { Sign, type Tone } from "#console/web/parts/mark.tsx";
import { evidenceWords } from "#kernel/words.ts";
import type { RolloutPlan, RolloutStatus } from "#rollout/contract.ts";

type Evidence = RolloutPlan["ci"][number];

/** The evidence of a plan: a rollout of the image is refused while any of it does not pass. */
export function PlanEvidence({ plan: { ci = [] } }: { plan: RolloutPlan }) {
  if (ci.length === 0) return null;
  return (
    <section class="plan-ci" aria-labelledby="plan-ci-title">
      <h3 id="plan-ci-title">CI</h3>
      <EvidenceList evidence={ci} />
      {ci.some(({ passes }) => !passes) && (
        <Notice tone="bad">This image is refused: the settings ask for all of these.</Notice>
      )}
    </section>
  );
}

/** Nothing for a rollout of which no evidence was asked. */
export function EvidencePanel({ status: { ci = [] } }: { status: RolloutStatus }) {
  if (ci.length === 0) return null;
  return (
    <Panel title="CI">
      <EvidenceList evidence={ci} />
    </Panel>
  );
}

function EvidenceList({ evidence }: { evidence: readonly Evidence[] }) {
  return (
    <ul class="plain-list evidence">
      {evidence.map((one) => (
        <li key={one.kind}>
          <Sign tone={toneOfEvidence(one)} />
          <div>
            <b>{wordsOfEvidence(one)}</b>: {one.detail}
            {one.url !== undefined && (
              <>
                {" · "}
                <a href={one.url} target="_blank" rel="noreferrer noopener">
                  open {kindNames[one.kind].toLowerCase()}
                </a>
              </>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

const kindNames: Record<CiKind, string> = {
  commit: "Commit",
  signature: "Signature",
  provenance: "Provenance",
  label: "Labels",
};

function wordsOfEvidence(evidence: CiEvidence): string {
  return `${kindNames[evidence.kind]} ${evidenceWords(evidence)}`;
}

function toneOfEvidence({ result, passes }: CiEvidence): Tone {
  if (result === "passed") return "good";
  return passes || result === "pending" ? "warn" : "bad";
}

/** All in one line, for a comparison. */
export function evidenceLine(evidence: readonly CiEvidence[]): string {
  return evidence.map(wordsOfEvidence).join(" · ");
}
