import { describe, expect, it } from "vitest";
import { giveUp } from "#control/ingress.ts";

const limits = { attemptMs: 60_000, patienceMs: 30_000, totalMs: 86_400_000 };
const hourMs = 3_600_000;

describe("giveUp", () => {
  it("waits for a Restate that is out of reach until the patience is over", () => {
    const waited = { isTaken: false, blocks: true };

    expect(giveUp({ ...waited, afterMs: 29_999 }, limits)).toBeUndefined();
    expect(giveUp({ ...waited, afterMs: 30_000 }, limits)).toMatchObject({ status: 503 });
  });

  it("stays with a blocking call that Restate may have for as long as a rollout may take", () => {
    const waited = { isTaken: true, blocks: true };

    expect(giveUp({ ...waited, afterMs: 23 * hourMs }, limits)).toBeUndefined();
    expect(giveUp({ ...waited, afterMs: 24 * hourMs }, limits)).toMatchObject({ status: 504 });
  });

  it("lets nobody wait long for a call that answers at once", () => {
    const waited = { isTaken: true, blocks: false };

    expect(giveUp({ ...waited, afterMs: 30_000 }, limits)).toMatchObject({ status: 504 });
  });

  it("says that Status tells how it goes on", () => {
    const refusal = giveUp({ isTaken: true, blocks: true, afterMs: 24 * hourMs }, limits);

    expect(refusal?.message).toContain("Status");
  });
});
