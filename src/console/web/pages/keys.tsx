/** Verifications of keys by outcome, over time and by API. */
import type { KeyUsage } from "#console/contract.ts";
import { useQuery } from "#console/web/address.ts";
import { alongBuckets, bucketsOf, counts } from "#console/web/charts/axis.ts";
import { LazyChart, useHours } from "#console/web/charts/lazy.tsx";
import { count, percent } from "#console/web/format.ts";
import { Missing, Notice, Panel, Table, Waiting } from "#console/web/parts/blocks.tsx";
import { useRead } from "#console/web/use-read.ts";

const spans = [
  { hours: 1, name: "1 hour" },
  { hours: 24, name: "24 hours" },
  { hours: 168, name: "7 days" },
  { hours: 720, name: "30 days" },
];

export function KeysPage() {
  const [hours, setHours] = useHours(spans);
  const [workspaceId, setWorkspaceId] = useQuery("workspace", "");
  const question = { hours, ...(workspaceId !== "" && { workspace_id: workspaceId }) };
  const { data, latest, error, isMissing } = useRead("key-usage", question, 15_000);
  if (isMissing || isUnknown(workspaceId, data)) return <NoWorkspace id={workspaceId} />;
  if (latest === undefined) return <Waiting error={error} />;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Keys</h1>
          <p>Verifications by outcome.</p>
        </div>
        <div class="inline-form">
          <label>
            <span class="label">Workspace</span>
            <select
              value={workspaceId || (latest.workspace_id ?? "")}
              onChange={(event) => setWorkspaceId(event.currentTarget.value)}
            >
              {latest.workspaces.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span class="label">Time</span>
            <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
              {spans.map((span) => (
                <option key={span.hours} value={span.hours}>
                  {span.name}
                </option>
              ))}
            </select>
          </label>
        </div>
      </div>
      {data === undefined ? <Waiting error={error} /> : <Usage usage={data} error={error} />}
    </>
  );
}

/** True if there is no such workspace; an address without one has the oldest one, if there is any. */
function isUnknown(id: string, usage: KeyUsage | undefined): boolean {
  if (id === "" || usage === undefined) return false;
  // The list ends with the 200th.
  return usage.apis.length === 0 && usage.workspaces.every((one) => one.id !== id);
}

function NoWorkspace({ id }: { id: string }) {
  return (
    <Missing title="Workspace not found" back={{ to: "/keys", words: "All keys" }}>
      There is no workspace <span class="mono">{id}</span>.
    </Missing>
  );
}

function Usage({ usage, error }: { usage: KeyUsage; error: string | undefined }) {
  return (
    <>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      {!usage.is_recorded && (
        <Notice tone="warn">
          This program has no analytics: set clickhouse.url, or install chdb.
        </Notice>
      )}
      <Totals usage={usage} />
      <div class="sides">
        <OverTime usage={usage} />
        <ByApi usage={usage} />
      </div>
    </>
  );
}

function Totals({ usage }: { usage: KeyUsage }) {
  const sums = sumAll(usage);
  const total = totalOf(sums);
  const valid = sums["VALID"] ?? 0;
  return (
    <dl class="tiles">
      <div>
        <dt>Verifications</dt>
        <dd>{count(total)}</dd>
      </div>
      <div>
        <dt>Valid</dt>
        <dd>
          {count(valid)} {total > 0 && <small>{percent(valid, total)}</small>}
        </dd>
      </div>
      <div>
        <dt>Refused</dt>
        <dd>{count(total - valid)}</dd>
      </div>
      <div>
        <dt>APIs</dt>
        <dd>{count(usage.apis.length)}</dd>
      </div>
    </dl>
  );
}

function sumAll({ points }: KeyUsage): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const point of points) {
    for (const [name, n] of Object.entries(point.outcomes)) sums[name] = (sums[name] ?? 0) + n;
  }
  return sums;
}

function OverTime({ usage }: { usage: KeyUsage }) {
  const { points, bucket_seconds: bucketSeconds } = usage;
  const span = { from: Date.parse(usage.from) / 1_000, to: Date.parse(usage.to) / 1_000 };
  const times = bucketsOf(span, bucketSeconds);
  const found = points.map((point) => ({ at: point.at, point: point.outcomes }));
  const seen = sumAll(usage);
  const shown = outcomes.filter(({ name }) => (seen[name] ?? 0) > 0);
  return (
    <Panel title="Over time">
      {points.length === 0 ? (
        <p class="quiet">No verifications in this time span.</p>
      ) : (
        <LazyChart
          description={`Verifications over time: ${shown
            .map(({ name, label }) => `${count(seen[name] ?? 0)} ${label}`)
            .join(", ")}.`}
          times={times}
          span={span}
          lines={shown.map(({ name, label, colour }) => ({
            label,
            colour,
            values: alongBuckets(times, found, { value: (sums) => sums[name] ?? 0, absent: 0 }),
          }))}
          unit={counts}
        />
      )}
    </Panel>
  );
}

function ByApi({ usage: { apis } }: { usage: KeyUsage }) {
  return (
    <Panel title="By API">
      {apis.length === 0 ? (
        <p class="quiet">
          No APIs yet: <code class="mono">apis.createApi</code> of the public API makes one, and{" "}
          <code class="mono">keys.createKey</code> its first key.
        </p>
      ) : (
        <Apis apis={apis} />
      )}
    </Panel>
  );
}

function Apis({ apis }: Pick<KeyUsage, "apis">) {
  return (
    <Table
      names={["API", "Keys", "Verifications", "Valid", "Refused for"]}
      numbers={["Keys", "Verifications", "Valid"]}
    >
      {apis.map(({ key_space_id: id, name, keys, outcomes: counts }) => (
        <tr key={id}>
          <td data-name="API">{name}</td>
          <td data-name="Keys" class="number">
            {count(keys)}
          </td>
          <td data-name="Verifications" class="number">
            {count(totalOf(counts))}
          </td>
          <td data-name="Valid" class="number">
            {totalOf(counts) === 0 ? "none" : percent(counts["VALID"] ?? 0, totalOf(counts))}
          </td>
          <td data-name="Refused for">{refusals(counts) || <span class="quiet">nothing</span>}</td>
        </tr>
      ))}
    </Table>
  );
}

function refusals(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([name, n]) => name !== "VALID" && n > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, n]) => `${outcomes.find((one) => one.name === name)?.label ?? name} ${count(n)}`)
    .join(", ");
}

/** Outcomes of verifications, each with its own colour. Other outcomes count in the totals only. */
const outcomes = [
  { name: "VALID", label: "valid", colour: "--good-fill" },
  { name: "RATE_LIMITED", label: "rate limited", colour: "--warn-fill" },
  { name: "USAGE_EXCEEDED", label: "no credits left", colour: "--calm-fill" },
  { name: "INSUFFICIENT_PERMISSIONS", label: "not permitted", colour: "--info-fill" },
  { name: "FORBIDDEN", label: "forbidden", colour: "--bad-fill" },
  { name: "DISABLED", label: "disabled", colour: "--mute-fill" },
  { name: "EXPIRED", label: "expired", colour: "--line-strong" },
  { name: "NOT_FOUND", label: "not found", colour: "--accent" },
] as const;

function totalOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}
