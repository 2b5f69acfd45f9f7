/** Our events for an alert manager's source beside those of a real Alertmanager. */
import { expect, it, onTestFinished } from "vitest";
import { renderEvent } from "#alerts/payload.ts";
import { buildEpisode, exampleLinks } from "../../support/alerts/alert-builders.ts";
import { startAlertReceiver } from "../../support/alerts/alert-receiver.ts";
import { hasAlertmanager, startAlertmanager } from "../../support/alerts/alert-systems.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Names and kinds of values; labels and annotations are free, and so only kinds. */
function shapeOf(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => shapeOf(item));
  if (typeof value !== "object" || value === null) return typeof value;
  const isFree = /labels|annotations/i.test(name);
  const entries = Object.entries(value).map(([key, of]) => [key, shapeOf(of, key)]);
  return isFree ? [...new Set(entries.map(([, kind]) => kind))] : Object.fromEntries(entries);
}

it.skipIf(!hasAlertmanager())(
  "have the shape of a real Alertmanager's, failure and recovery",
  async () => {
    const receiver = await startAlertReceiver();
    onTestFinished(receiver.stop);
    const alertmanager = await startAlertmanager(receiver);
    onTestFinished(alertmanager.stop);
    await alertmanager.report("failed", 1);
    await waitFor(() => receiver.events.length === 1, { withinMs: 20_000, what: "the failure" });
    await alertmanager.report("ok", 1);
    await waitFor(() => receiver.events.length === 2, { withinMs: 20_000, what: "the recovery" });

    const checkId = alertmanager.checkId;
    const ours = buildEpisode({ checkId }).map((order) =>
      renderEvent(order, {
        kind: "alertmanager",
        environment: "production",
        linkTo: exampleLinks,
      }),
    );

    const theirs = receiver.events.map(({ body }) => body);
    expect(ours.map((body) => shapeOf(body))).toEqual(theirs.map((body) => shapeOf(body)));
    const statuses = (bodies: readonly object[]) =>
      bodies.map((body) => {
        const { status, version, alerts } = body as { [name: string]: unknown; alerts: object[] };
        return {
          status,
          version,
          alerts: alerts.map((alert) => (alert as typeof body & { status: string }).status),
        };
      });
    expect(statuses(ours)).toEqual(statuses(theirs));
    // A time that is not set, as theirs.
    const endOf = (body: object) => (body as { alerts: { endsAt: string }[] }).alerts[0]?.endsAt;
    expect(endOf(ours[0] ?? {})).toBe(endOf(theirs[0] ?? {}));
  },
);
