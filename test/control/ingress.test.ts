import { describe, expect, it } from "vitest";
import { refusalAfter } from "#control/ingress.ts";

const limits = { attemptMs: 60_000, timeoutMs: 30_000, totalMs: 86_400_000 };
const hourMs = 3_600_000;

describe("refusalAfter", () => {
  it("retries an unreachable Restate until the timeout", () => {
    const waited = { isTaken: false, blocks: true };

    expect(refusalAfter({ ...waited, afterMs: 29_999 }, limits)).toBeUndefined();
    expect(refusalAfter({ ...waited, afterMs: 30_000 }, limits)).toMatchObject({ status: 503 });
  });

  it("retries a blocking call that Restate may have for as long as a rollout may take", () => {
    const waited = { isTaken: true, blocks: true };

    expect(refusalAfter({ ...waited, afterMs: 23 * hourMs }, limits)).toBeUndefined();
    expect(refusalAfter({ ...waited, afterMs: 24 * hourMs }, limits)).toMatchObject({
      status: 504,
    });
  });

  it("ends a call that does not block after the short timeout", () => {
    const waited = { isTaken: true, blocks: false };

    expect(refusalAfter({ ...waited, afterMs: 30_000 }, limits)).toMatchObject({ status: 504 });
  });

  it("says that no worker has answered when Restate has the call and lives", () => {
    const waited = { isTaken: true, blocks: false, afterMs: 30_000 };

    expect(refusalAfter({ ...waited, isSilent: true }, limits)?.message).toContain("no worker");
    expect(refusalAfter(waited, limits)?.message).not.toContain("no worker");
  });

  it("refers to Status for the state of the call", () => {
    const refusal = refusalAfter({ isTaken: true, blocks: true, afterMs: 24 * hourMs }, limits);

    expect(refusal?.message).toContain("Status");
  });
});
