/** The newest deploys of one sentinel, over all rollouts. */
import { Panel, Table } from "#console/web/parts/blocks.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { Mark } from "#console/web/parts/mark.tsx";
import { markNames } from "#console/web/parts/marks.ts";
import { Time } from "#console/web/parts/time.tsx";
import { Link } from "#console/web/router.tsx";
import type { SentinelDeploy } from "#rollout/history/contract.ts";
import { markOfOutcome } from "./words.ts";

export function Deploys({ deploys }: { deploys: readonly SentinelDeploy[] }) {
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
