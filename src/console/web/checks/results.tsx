import { ms } from "#console/web/format.ts";
import { Waiting } from "#console/web/parts/notice.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { CheckHistory, CheckView } from "#monitor/results/contract.ts";

const tags = { ok: "t-good", degraded: "t-warn", failed: "t-bad" } as const;

/** The last runs, or pings. */
export function LastResults({ check }: { check: CheckView }) {
  const { data, error } = useRead("CheckReads/History", { check: check.id, limit: 25 }, 10_000);
  return (
    <section class="panel" aria-labelledby="results-title">
      <header class="panel-head">
        <h2 id="results-title">{check.kind === "api" ? "Last runs" : "Last pings"}</h2>
      </header>
      {data === undefined ? (
        <Waiting error={error} />
      ) : data.results.length === 0 ? (
        <p class="quiet">
          No results yet. {check.kind === "api" ? "Each run" : "Each ping"} is listed here.
        </p>
      ) : (
        <Results results={data.results} />
      )}
    </section>
  );
}

function Results({ results }: Pick<CheckHistory, "results">) {
  return (
    <div class="scroll">
      <table class="cards">
        <thead>
          <tr>
            <th>When</th>
            <th>Location</th>
            <th>Grade</th>
            <th class="number">Took</th>
            <th>Result</th>
          </tr>
        </thead>
        <tbody>
          {results.map((result) => (
            <tr key={`${result.scheduled_at} ${result.location}`}>
              <td data-name="When" class="nowrap">
                <Time iso={result.scheduled_at} />
              </td>
              <td data-name="Location">{result.location}</td>
              <td data-name="Grade">
                <span class={`tag ${tags[result.grade]}`}>{result.grade}</span>
              </td>
              <td data-name="Took" class="number">
                {ms(result.duration_ms)}
              </td>
              <td data-name="Result">{resultWords(result)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type Result = Pick<CheckHistory["results"][number], "status" | "reason" | "grade">;

function resultWords({ status, reason, grade }: Result): string {
  const words = [status === null ? "" : `status ${status}`, reason ?? ""];
  const said = words.filter((part) => part !== "").join(": ");
  return said || (grade === "ok" ? "as expected" : "no reason is known");
}
