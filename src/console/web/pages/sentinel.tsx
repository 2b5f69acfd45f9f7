/** One sentinel: what it runs and was ordered to run, what holds it back, and its deploys. */
import type { ComponentChildren } from "preact";
import type { SentinelDetail } from "#console/contract.ts";
import { LogTail } from "#console/web/fleet/log-tail.tsx";
import { HeldBack } from "#console/web/fleet/sentinel-panel.tsx";
import { ago, shortImage } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice, Panel, Table, Waiting } from "#console/web/parts/blocks.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { Mark, Sign, type Tone } from "#console/web/parts/mark.tsx";
import { markNames } from "#console/web/parts/marks.ts";
import { Time } from "#console/web/parts/time.tsx";
import { Link, path, useTitle } from "#console/web/router.tsx";
import { pathOfSentinel, sentinelOf } from "#console/web/sentinels/search.ts";
import { healthWords, markOfOutcome } from "#console/web/sentinels/words.ts";
import { useRead } from "#console/web/use-read.ts";
import { compareImages } from "#kernel/image-reference.ts";
import { labelWords } from "#kernel/words.ts";
import type { SentinelDeploy } from "#rollout/history/contract.ts";

export function SentinelPage() {
  const id = sentinelOf(path.value);
  const { data, error } = useRead("sentinel", { id, rollout_id: null }, 3_000);
  useTitle(`${id} · Fleet`);
  const deploys = useRead("sentinel-deploys", { id }, 10_000);
  return (
    <>
      <p>
        <Link to="/fleet">The whole fleet</Link>
      </p>
      <div class="page-head">
        <div>
          <h1>{id}</h1>
          {data !== undefined && <State sentinel={data} />}
        </div>
      </div>
      {data === undefined ? (
        <Waiting error={error} />
      ) : (
        <>
          {error !== undefined && <Notice tone="warn">{error}</Notice>}
          <Facts sentinel={data} newest={deploys.data?.deploys[0]} />
          <Log sentinel={data} />
        </>
      )}
      {deploys.data === undefined ? (
        <Waiting error={deploys.error} />
      ) : (
        <Deploys deploys={deploys.data.deploys} />
      )}
    </>
  );
}

function State({ sentinel }: { sentinel: SentinelDetail }) {
  const { tone, words } = stateOf(sentinel);
  return (
    <p class="sentinel-state">
      <span class="badge">
        <Sign tone={tone} /> {words}
      </span>
    </p>
  );
}

function stateOf({ deploy_status: status, image, running_image }: SentinelDetail): {
  tone: Tone;
  words: string;
} {
  if (status === "failed") return { tone: "bad", words: "Its last deploy failed" };
  if (status === "progressing") return { tone: "info", words: "A deploy is in progress" };
  return compareImages(image, running_image) === "other"
    ? { tone: "warn", words: "Runs another image than was ordered" }
    : { tone: "good", words: "Runs what was ordered" };
}

type FactsProps = { sentinel: SentinelDetail; newest: SentinelDeploy | undefined };

function Facts({ sentinel, newest }: FactsProps) {
  const { deploy_reason: reason, previous_image: previous, labels = {} } = sentinel;
  const health = healthWords[sentinel.health as keyof typeof healthWords] ?? healthWords.unknown;
  return (
    <Panel
      title="Now"
      beside={<span class="quiet">changed {ago(sentinel.updated_at, nowMs.value)}</span>}
    >
      {reason !== null && <p class="reason">{reason}</p>}
      <HeldBack sentinel={sentinel} />
      <dl class="facts wide">
        <Fact name="Runs">
          <Image image={sentinel.running_image} />
        </Fact>
        <Fact name="Ordered">
          <Image image={sentinel.image} />
        </Fact>
        <Fact name="Before that">{previous === null ? "none" : <Image image={previous} />}</Fact>
        <Fact name="Health">
          <span class="badge">
            <Sign tone={health.tone} /> {health.name}
          </span>
        </Fact>
        <Fact name="Region">{sentinel.region}</Fact>
        <Fact name="Labels">{labelWords(labels) || "none"}</Fact>
        <Fact name="Newest rollout">
          {newest === undefined ? (
            "none"
          ) : (
            <Link to={`/history/${newest.rollout_id}`}>
              {`${shortImage(newest.image)}, ${ago(newest.started_at, nowMs.value)}`}
            </Link>
          )}
        </Fact>
      </dl>
    </Panel>
  );
}

/** The logs of the failed deploy, if the last one failed, and of what runs. */
function Log({ sentinel: { id, deploy_status: status } }: { sentinel: SentinelDetail }) {
  return (
    <Panel title="Log">
      {status === "failed" && (
        <>
          <h3>Of the deploy that failed</h3>
          <LogTail sentinel={id} which="failed" pageOf={pathOfSentinel} />
          <h3>Of what runs</h3>
        </>
      )}
      <LogTail sentinel={id} which="running" pageOf={pathOfSentinel} />
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Deploys({ deploys }: { deploys: readonly SentinelDeploy[] }) {
  return (
    <Panel title="Deploys" note="of all rollouts, the newest first">
      {deploys.length === 0 ? (
        <p class="quiet">No rollout had this sentinel.</p>
      ) : (
        <Table names={["Outcome", "Image", "Before", "Wave", "When"]} numbers={["Wave"]}>
          {deploys.map((deploy) => (
            <Row key={deploy.rollout_id} deploy={deploy} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function Row({ deploy }: { deploy: SentinelDeploy }) {
  const { rollout_id: id, outcome, reason, failure, previous_image: before, wave, at } = deploy;
  const mark = markOfOutcome(outcome);
  return (
    <tr>
      <td data-name="Outcome">
        <div>
          <span class="badge">
            <Mark mark={mark} /> {markNames[mark]}
          </span>
          {failure !== null && failure !== reason && (
            <div class="reason small-text">Failed before: {failure}</div>
          )}
          {reason !== null && (
            <div class={mark === "l" ? "quiet small-text" : "reason small-text"}>{reason}</div>
          )}
        </div>
      </td>
      <td data-name="Image">
        <Link to={`/history/${id}`}>
          <Image image={deploy.image} />
        </Link>
      </td>
      <td data-name="Before">{before === "" ? "" : <Image image={before} />}</td>
      <td data-name="Wave" class="number">
        {wave ?? "none"}
      </td>
      <td data-name="When" class="nowrap">
        {outcome === null ? (
          ""
        ) : (
          <Link to={`/history/${id}?at=${at}`}>
            <Time iso={at} />
          </Link>
        )}
      </td>
    </tr>
  );
}
