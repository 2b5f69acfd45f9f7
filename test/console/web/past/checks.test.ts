import { expect, it } from "vitest";
import { orderChecks } from "#console/web/past/moments.ts";
import type { CheckView } from "#monitor/results/contract.ts";

const check = (id: string, over: { last_at?: string | null; kind?: string } = {}): CheckView =>
  ({
    id,
    name: id,
    last_at: over.last_at === undefined ? "2026-01-01T00:00:00Z" : over.last_at,
    rule: { kind: over.kind ?? "api" },
  }) as CheckView;

it("the checks of the gate come first, those that have never run last, and heartbeats not at all", () => {
  const checks = [
    check("never", { last_at: null }),
    check("zeta"),
    check("alpha"),
    check("job", { kind: "heartbeat" }),
    check("gate-1", { last_at: null }),
    check("gate-2"),
  ];

  const ids = orderChecks(checks, ["gate-2", "gate-1", "unknown"]).map(({ id }) => id);

  expect(ids).toEqual(["gate-2", "gate-1", "alpha", "zeta", "never"]);
});
