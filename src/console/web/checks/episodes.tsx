import { day, duration } from "#console/web/format.ts";
import type { CheckEpisode } from "#monitor/results/contract.ts";

/** The alerts of a check, the newest first. */
export function Episodes({ episodes }: { episodes: readonly CheckEpisode[] }) {
  if (episodes.length === 0) return <p class="quiet">No alerts yet.</p>;
  return (
    <div class="scroll">
      <table class="cards">
        <thead>
          <tr>
            <th>Alert</th>
            <th>Opened</th>
            <th>Lasted</th>
            <th>Reason</th>
          </tr>
        </thead>
        <tbody>
          {episodes.map((episode) => (
            <tr key={episode.episode}>
              <td data-name="Alert">{`#${episode.episode}`}</td>
              <td data-name="Opened" class="nowrap">
                {day(episode.opened_at)}
              </td>
              <td data-name="Lasted" class="nowrap">
                {lasted(episode)}
              </td>
              <td data-name="Reason">{reasonOf(episode)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function lasted({ opened_at: openedAt, resolved_at: resolvedAt }: CheckEpisode): string {
  if (resolvedAt === null) return "still open";
  return duration((Date.parse(resolvedAt) - Date.parse(openedAt)) / 1_000);
}

function reasonOf({ reason, rollout, missed_pings: missed }: CheckEpisode): string {
  const inRollout = rollout === null ? "" : ` · in or soon after wave ${rollout.wave} of a rollout`;
  const pings = missed === null ? "" : ` · ${missed} ping${missed === 1 ? "" : "s"} missed`;
  return `${reason}${pings}${inRollout}`;
}
