/** What is sent to whom when an alert opens, ends, or its check gets other channels. */
import { describe, expect, it } from "vitest";
import { DirectChannel } from "#alerts/rows/contract.ts";
import type { ApiCheck } from "#monitor/contract.ts";
import { openAlert, resolve } from "#monitor/rules/verdict.ts";
import {
  applyTransition,
  endAlert,
  followChannels,
  recordSuppression,
} from "#monitor/state/alerting.ts";
import { type ApiRow, newEffects } from "#monitor/state/row.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";
import { anApiRow } from "../../support/monitor/check-rows.ts";

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const hook = DirectChannel.parse({ id: "hook", kind: "webhook", url: "https://a.example.com/" });
const check = anApiCheck({ id: "probe" });

const failure = { checkId: "probe", reason: "local: refused", locations: ["local"], rollout: null };

/** The row after the alert opened at 1,000, and what that sent. */
function failed(of: ApiCheck = check, row = anApiRow()) {
  const effects = newEffects();
  const { state, transition } = openAlert(row.state, { ...failure, atMs: 1_000 });
  return { row: applyTransition({ ...row, state }, of, { transition, effects }), effects };
}

/** The row after it recovered at 9,000, and what that sent. */
function recovered(row: ApiRow, of: ApiCheck = check) {
  const effects = newEffects();
  const ending = { checkId: "probe", atMs: 9_000, missedPings: null };
  const { state, transition } = resolve(row.state, ending);
  return { row: applyTransition({ ...row, state }, of, { transition, effects }), effects };
}

function follow(row: ApiRow, of: ApiCheck, nowMs = 5_000) {
  const effects = newEffects();
  return { row: followChannels(row, of, { nowMs, effects }), effects };
}

type Sent = ReturnType<typeof newEffects>;

const sent = ({ orders }: Sent) =>
  orders.map(({ queue, order }) => [queue, "notice" in order ? "" : order.transition?.eventId]);

describe("an alert that opens", () => {
  it("is sent to each channel of its check, in the queue of each", () => {
    const { effects } = failed({ ...check, directChannels: [chat, hook] });

    expect(sent(effects)).toEqual([
      ["probe", "probe:1:opened"],
      ["probe@chat", "probe@chat:1:opened"],
      ["probe@hook", "probe@hook:1:opened"],
    ]);
    expect(effects.transitions.map(({ eventId }) => eventId)).toEqual(["probe:1:opened"]);
  });

  it("is recorded, and sent to nobody, if its check has no channel", () => {
    const { row, effects } = failed({ ...check, channel: null });

    expect(effects).toMatchObject({ orders: [], transitions: [{ eventId: "probe:1:opened" }] });
    expect(row.addressee).toMatchObject({ channel: null });
  });

  it("without a transition nothing changes", () => {
    const [row, effects] = [anApiRow(), newEffects()];

    expect(applyTransition(row, check, { transition: null, effects })).toBe(row);
    expect(effects).toEqual(newEffects());
  });
});

describe("an alert that resolves", () => {
  it("is sent to the channels of its failure", () => {
    const { row } = failed({ ...check, directChannels: [chat] });

    const after = recovered(row, { ...check, channel: "staging", directChannels: [hook] });

    expect(sent(after.effects)).toEqual([
      ["probe", "probe:1:resolved"],
      ["probe@chat", "probe@chat:1:resolved"],
    ]);
    expect(after.effects.orders[0]?.order).toMatchObject({ channel: "production" });
    expect(after.row.addressee).toBeNull();
  });

  it("counts joinings from the beginning with the next episode", () => {
    const both = { ...check, directChannels: [hook] };
    const { row } = failed(both);
    const left = follow(row, check);
    const joined = follow(left.row, both);
    const over = recovered(joined.row, both);

    const { effects } = failed(both, over.row);

    expect(sent(over.effects).at(-1)).toEqual(["probe@hook", "probe@hook:1-1:resolved"]);
    expect(sent(effects).at(-1)).toEqual(["probe@hook", "probe@hook:2:opened"]);
  });
});

describe("an alert that ends without a recovery", () => {
  it("says why, what had failed, and goes to the channels of its failure under its name", () => {
    const { row } = failed({ ...check, name: "Verify", directChannels: [hook] });
    const effects = newEffects();

    const ended = endAlert(
      row,
      { id: "probe", endedBecause: "the check was removed" },
      { nowMs: 9_000, effects },
    );

    expect(ended).toMatchObject({ addressee: null, state: { episodes: 1, alert: null } });
    expect(sent(effects)).toEqual([
      ["probe", "probe:1:resolved"],
      ["probe@hook", "probe@hook:1:resolved"],
    ]);
    expect(effects.orders[0]?.order).toMatchObject({
      name: "Verify",
      transition: {
        eventId: "probe:1:resolved",
        reason: "local: refused",
        endedBecause: "the check was removed",
      },
    });
    expect(effects.transitions).toMatchObject([{ eventId: "probe:1:resolved", atMs: 9_000 }]);
  });

  it("without an alert nothing changes", () => {
    const [row, effects] = [anApiRow(), newEffects()];

    expect(endAlert(row, { id: "probe", endedBecause: "" }, { nowMs: 9_000, effects })).toBe(row);
    expect(effects).toEqual(newEffects());
  });
});

describe("an open alert whose check has other channels", () => {
  it("sends the recovery to those that left, before the failure to those that joined", () => {
    const { row } = failed({ ...check, directChannels: [chat] });

    const { effects } = follow(row, { ...check, channel: "staging", directChannels: [hook] });

    expect(sent(effects)).toEqual([
      ["probe", "probe:1:resolved"],
      ["probe@chat", "probe@chat:1:resolved"],
      ["probe", "probe:1-1:opened"],
      ["probe@hook", "probe@hook:1:opened"],
    ]);
    expect(effects.transitions).toEqual([]);
  });

  it("follows them once", () => {
    const now = { ...check, channel: "staging" as const };
    const { row } = follow(failed().row, now);

    const again = follow(row, now);

    expect(again.row).toBe(row);
    expect(again.effects).toEqual(newEffects());
  });

  it("joins nothing while it is muted, and does so with the first decision after that", () => {
    const now = { ...check, directChannels: [hook] };
    const muted = { mutedUntilMs: 6_000, maintenance: [] };
    const quiet = { ...failed().row, quiet: muted };

    const during = follow(quiet, now, 5_999);
    const after = follow(during.row, now, 6_000);

    expect(during.effects).toEqual(newEffects());
    expect(sent(after.effects)).toEqual([["probe@hook", "probe@hook:1:opened"]]);
  });

  it("ends when it pages nobody any more", () => {
    const { row, effects } = follow(failed().row, { ...check, channel: null });

    expect(row).toMatchObject({ addressee: null, state: { alert: null } });
    expect(effects.transitions).toMatchObject([{ endedBecause: "the check pages nobody now" }]);
  });

  it("has what waits for a corrected channel sent at once, and sends nothing else", () => {
    const { row } = failed({ ...check, directChannels: [hook] });
    const corrected = { ...hook, url: "https://b.example.com/" };

    const { row: after, effects } = follow(row, { ...check, directChannels: [corrected] });

    expect(effects).toEqual({ ...newEffects(), goOn: ["probe@hook"] });
    expect(after.addressee?.directChannels).toEqual([corrected]);
  });
});

describe("a suppression", () => {
  const suppressed = { by: "database", sinceMs: 2_000, reason: "local: refused" };
  const record = (row: ApiRow) => {
    const effects = newEffects();
    return { row: recordSuppression(row, "probe", { nowMs: 7_000, effects }), effects };
  };

  it("is recorded once when it begins, and once when it is over", () => {
    const begun = record(anApiRow({ suppressed }));
    const lasts = record(begun.row);
    const over = record({ ...lasts.row, state: { ...lasts.row.state, suppressed: null } });

    expect(begun.effects.suppressions).toEqual([
      { ...suppressed, untilMs: null, checkId: "probe" },
    ]);
    expect(lasts.effects.suppressions).toEqual([]);
    expect(over.effects.suppressions).toEqual([
      { ...suppressed, untilMs: 7_000, checkId: "probe" },
    ]);
    expect(record(over.row).effects.suppressions).toEqual([]);
  });
});
