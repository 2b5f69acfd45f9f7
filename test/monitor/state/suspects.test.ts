/** Where and since when an alert that opens failed, as changes are ranked for it. */
import { expect, it } from "vitest";
import type { AlertTransition } from "#alerts/contract.ts";
import type { BlamedAlert } from "#blame/contract.ts";
import type { ApiCheck, Heartbeat, OpenAlert } from "#monitor/contract.ts";
import { newEffects, type Row } from "#monitor/state/row.ts";
import { nameSuspects } from "#monitor/state/suspects.ts";
import { aHeartbeat, anApiCheck } from "../../support/monitor/check-builders.ts";
import { aHeartbeatRow, anApiRow } from "../../support/monitor/check-rows.ts";

const openedAtMs = 10_000_000;
const alert: OpenAlert = {
  episode: 1,
  openedAtMs,
  reason: "local: refused",
  locations: ["local"],
  acknowledged: null,
  rollout: null,
};

type Given = { before: Row; after: Row; check?: ApiCheck; heartbeat?: Heartbeat };

/** The alert that changes are ranked for. */
function blamed({ before, after, check, heartbeat }: Given): BlamedAlert {
  const id = check?.id ?? heartbeat?.id ?? "";
  const { acknowledged: _, ...rest } = alert;
  const opened = { ...rest, kind: "opened", eventId: `${id}:1:opened`, checkId: id } as const;
  const transition: AlertTransition = { ...opened, atMs: openedAtMs, missedPings: null };
  const asked: BlamedAlert[] = [];
  nameSuspects(
    {
      id,
      before: { row: before },
      decided: { row: after, wakeAtMs: null },
      effects: { ...newEffects(), transitions: [transition] },
    },
    {
      blame: (one) => {
        asked.push(one);
        return [];
      },
      definitions: {
        apiChecks: new Map(check === undefined ? [] : [[id, check]]),
        heartbeats: new Map(heartbeat === undefined ? [] : [[id, heartbeat]]),
      },
    },
  );
  const [one] = asked;
  if (one === undefined) throw new Error("nothing was asked");
  return one;
}

const failedSince = (sinceMs: number) => anApiRow({ status: "failed", sinceMs, alert });

it("a check failed since its first failed run, not since its alert, and was good one period before", () => {
  const before = anApiRow({ status: "failed", sinceMs: openedAtMs - 120_000 });
  const check = anApiCheck({ frequencySeconds: 60, failedRunThreshold: 3 });

  const found = blamed({ before, after: failedSince(openedAtMs - 120_000), check });

  expect(found).toMatchObject({ failedAtMs: openedAtMs - 120_000, goodAtMs: openedAtMs - 180_000 });
});

it("a check was good at its last good run", () => {
  const before = anApiRow({ status: "degraded", decidedRunMs: openedAtMs - 300_000 });

  const found = blamed({ before, after: failedSince(openedAtMs), check: anApiCheck() });

  expect(found.goodAtMs).toBe(openedAtMs - 300_000);
});

it("a check of our own API depends on it, and on the keys that it uses", () => {
  const check = anApiCheck({ path: "/v2/x", headers: { authorization: "Bearer {{ROOT_KEY}}" } });

  const { place } = blamed({ before: anApiRow(), after: failedSince(openedAtMs), check });

  expect(place).toMatchObject({ part: ["worker", "api"], key: ["own"], delivery: [] });
});

it("a check of another address names its regions by id, name, address and location", () => {
  const path = "https://gw.eu-west.example.com/";
  const check = anApiCheck({ id: "gw", name: "Gateway", path });

  const { place } = blamed({ before: anApiRow(), after: failedSince(openedAtMs), check });

  expect(place).toMatchObject({ part: ["worker"], key: [] });
  expect(place.names).toEqual(["gw", "Gateway", path, "local"]);
});

it("a heartbeat was good at its last ping", () => {
  const lastPingAtMs = openedAtMs - 7_200_000;
  const failed = { status: "failed", sinceMs: openedAtMs, lastPingAtMs, alert } as const;

  const found = blamed({
    before: aHeartbeatRow({ lastPingAtMs }),
    after: aHeartbeatRow(failed),
    heartbeat: aHeartbeat(),
  });

  expect(found).toMatchObject({ goodAtMs: lastPingAtMs, failedAtMs: openedAtMs });
  expect(found.place).toMatchObject({ part: ["control"], delivery: [] });
});

it("the heartbeat of a drill is about the delivery of alerts", () => {
  const heartbeat = aHeartbeat({ drill: { graceSeconds: 60, channel: "production" } });
  const after = aHeartbeatRow({ status: "failed", sinceMs: openedAtMs, alert });

  expect(blamed({ before: aHeartbeatRow(), after, heartbeat }).place.delivery).toEqual(["routes"]);
});
