import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderEvent } from "#alerts/payload.ts";
import {
  buildEpisode,
  buildOrder,
  exampleLinks,
  newYearMs,
  noLinks,
} from "../support/alerts/alert-builders.ts";

const image = "registry.example.com/vedette/sentinel:v7";
const console = { linkTo: exampleLinks, environment: "production" } as const;
const http = { ...console, kind: "checkly" } as const;
type HttpEvent = Record<"description", string> & { metadata: object };
const render = (order: ReturnType<typeof buildOrder>) => renderEvent(order, http) as HttpEvent;

/** Also what is no character. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }))
  .map((units) => String.fromCharCode(...units));

describe("an event for the synthetic monitor's source", () => {
  it("has a failure fire under the check's id", () => {
    expect(render(buildOrder())).toMatchObject({
      title: "Verify key failed",
      description: "status 500\nLocations: local",
      deduplication_key: "verify-key",
      status: "firing",
      source_url: "https://vedette.example.com/console/checks/verify-key",
      metadata: { alertType: "ALERT_FAILURE", event_id: "verify-key:1:opened", episode: 1 },
    });
  });

  it("has a recovery resolve under the same key, and says how long the alert was open", () => {
    const order = buildOrder({ kind: "resolved", openedAtMs: newYearMs, atMs: newYearMs + 90_000 });

    expect(render(order)).toMatchObject({
      title: "Verify key recovered",
      description: "Recovered after 90 s. It had failed: status 500\nLocations: local",
      deduplication_key: "verify-key",
      status: "resolved",
      metadata: { alertType: "ALERT_RECOVERY", occurred_at: "2026-01-01T00:01:30.000Z" },
    });
  });

  it("has no negative duration after the clock was set back", () => {
    const order = buildOrder({ kind: "resolved", openedAtMs: newYearMs, atMs: newYearMs - 90_000 });

    expect(render(order).description).toContain("Recovered after 0 ms.");
  });

  it("carries the rollout and the wave it opened in", () => {
    const order = buildOrder();
    const rollout = { rolloutId: "r-7", fleet: "singleton", image, wave: 2 };

    const event = render({ ...order, transition: { ...order.transition, rollout } } as never);

    expect(event.metadata).toMatchObject({
      rollout_id: "r-7",
      rollout_image: image,
      rollout_wave: 2,
      rollout_url: "https://vedette.example.com/console/history/r-7",
    });
    expect(event.description).toContain(
      `During wave 2 of the rollout of ${image}: https://vedette.example.com/console/history/r-7`,
    );
  });

  it("says how long before a rollout had ended", () => {
    const order = buildOrder();
    const rollout = {
      rolloutId: "r-7",
      fleet: "singleton",
      image,
      wave: 2,
      endedAtMs: newYearMs - 720_000,
    };

    const event = render({ ...order, transition: { ...order.transition, rollout } } as never);

    expect(event.metadata).toMatchObject({ rollout_ended_at: "2025-12-31T23:48:00.000Z" });
    expect(event.description).toContain(`The rollout of ${image} had ended 12 min before`);
  });

  it("has the number of pings that a heartbeat missed", () => {
    const order = buildOrder({ kind: "resolved" });

    const event = render({
      ...order,
      transition: { ...order.transition, locations: [], missedPings: 3 },
    } as never);

    expect(event.metadata).toMatchObject({ missed_pings: 3 });
    expect(event.description).toContain("Pings missed: 3");
    expect(event.description).not.toContain("Locations");
  });

  it("closes the alert of a check that did not recover, and says why", () => {
    const order = buildOrder({ kind: "resolved", atMs: newYearMs + 180_000 });
    const transition = { ...order.transition, endedBecause: "the check was removed" };

    const event = renderEvent({ ...order, transition }, http);

    expect(event).toMatchObject({
      title: "Verify key closed without a recovery",
      description:
        "Closed after 3 min: the check was removed. It had failed: status 500\nLocations: local",
      status: "resolved",
      metadata: { reason: "the check was removed" },
    });
  });

  it("has no link when there is no console", () => {
    const event = renderEvent(buildOrder(), { ...console, kind: "http", linkTo: noLinks });

    expect(event).not.toHaveProperty("source_url");
  });

  it("carries any text whole", () => {
    fc.assert(
      fc.property(anyText, (reason) => {
        const sent = JSON.parse(JSON.stringify(render(buildOrder({ reason }))));

        expect(sent.metadata.reason).toBe(reason);
      }),
    );
  });
});

describe("an event for an alert manager's source", () => {
  type Message = { status: string; alerts: Record<string, unknown>[] };
  const renderMessage = (order: ReturnType<typeof buildOrder>) =>
    renderEvent(order, { ...console, kind: "alertmanager" }) as Message;

  it("is a message of one alert, labelled to page", () => {
    const { status, alerts } = renderMessage(buildOrder());

    expect(status).toBe("firing");
    expect(alerts).toEqual([
      expect.objectContaining({
        labels: expect.objectContaining({ alertname: "verify-key", severity: "critical" }),
        endsAt: "0001-01-01T00:00:00Z",
      }),
    ]);
  });

  it("gives failure and recovery one fingerprint, and checks different ones", () => {
    const orders = [...buildEpisode(), buildOrder({ checkId: "liveness" })];

    const [opened, resolved, other] = orders.map(
      (order) => renderMessage(order).alerts[0]?.["fingerprint"],
    );

    expect(opened).toMatch(/^[0-9a-f]{16}$/);
    expect(resolved).toBe(opened);
    expect(other).not.toBe(opened);
  });
});
