import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import type { AlertMessage } from "#alerts/channels/message.ts";
import { gradeWebhook, readKeys, renderWebhook, signatureOf } from "#alerts/channels/webhook.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";

const secretOf = () => `whsec_${randomBytes(32).toString("base64")}`;
const judge = (status: number, retryAfter: string | null = null) =>
  gradeWebhook({ status, retryAfter, body: "" }, 0);

describe("renderWebhook", () => {
  it("has the body that is documented", () => {
    expect(renderWebhook(buildMessage({ kind: "resolved" }))).toMatchObject({
      id: "verify-key:3:resolved",
      type: "alert.resolved",
      timestamp: "2026-01-01T00:04:00.000Z",
      data: {
        check: "verify-key",
        name: "Verify key",
        environment: "production",
        episode: 3,
        sequence: 6_001,
        dedup_key: "verify-key:3",
        summary: "Recovered after 4 min: Verify key. It had failed: status 500",
        since: "2026-01-01T00:00:00.000Z",
        url: "https://vedette.example.com/console/checks/verify-key",
      },
    });
  });

  it("numbers all events of a check upwards, also of a channel that it joined again", () => {
    const numberOf = (given: Partial<AlertMessage>) =>
      (renderWebhook(buildMessage(given)) as { data: { sequence: number } }).data.sequence;
    const kinds = ["firing", "resolved"] as const;
    const events = [3, 4].flatMap((episode) =>
      [0, 1, 2, 999].flatMap((joining) => kinds.map((kind) => ({ episode, joining, kind }))),
    );

    const numbers = events.map(numberOf);

    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    expect(numberOf({ episode: 3, joining: 5_000, kind: "resolved" })).toBeLessThan(
      numberOf({ episode: 4 }),
    );
  });

  it("has what changed before a failure only if that is known", () => {
    const dataOf = (message: AlertMessage) => (renderWebhook(message) as { data: object }).data;
    const suspect = {
      id: "ro_1:wave-2",
      kind: "rollout",
      who: "ada",
      score: 0.9,
      text: "wave 2",
    } as const;

    expect(dataOf(buildMessage({ changes: [{ ...suspect, atMs: 0 }] }))).toMatchObject({
      changes: [{ ...suspect, at: "1970-01-01T00:00:00.000Z" }],
    });
    expect(dataOf(buildMessage({ changes: [] }))).toMatchObject({ changes: [] });
    expect(dataOf(buildMessage())).not.toHaveProperty("changes");
  });

  it("says of a test that it is one", () => {
    expect(renderWebhook(buildMessage({ isTest: true }))).toMatchObject({ type: "alert.test" });
  });

  it("stays below 20 KB however long the texts of peers are", () => {
    const long = "x".repeat(100_000);
    const locations = Array.from({ length: 1_000 }, () => long);
    const body = renderWebhook(buildMessage({ reason: long, locations, endedBecause: long }));

    expect(JSON.stringify(body).length).toBeLessThan(20_000);
  });
});

describe("signatureOf", () => {
  it.each([0, 1])("fits a receiver that knows secret %i of two", (known) => {
    const secrets = [secretOf(), secretOf()];
    const keys = readKeys(secrets.join(" ")) ?? [];
    const body = JSON.stringify(renderWebhook(buildMessage()));

    const headers = signatureOf(body, { id: "verify-key:3:opened", keys, nowMs: Date.now() });

    expect(new Webhook(secrets[known] ?? "").verify(body, headers)).toEqual(JSON.parse(body));
  });

  it("fits no receiver with another secret", () => {
    const keys = readKeys(secretOf()) ?? [];

    const headers = signatureOf("{}", { id: "a", keys, nowMs: Date.now() });

    expect(() => new Webhook(secretOf()).verify("{}", headers)).toThrow("No matching signature");
  });

  it("is absent without a secret", () => {
    const headers = signatureOf("{}", { id: "a", keys: [], nowMs: 0 });

    expect(headers).not.toHaveProperty("webhook-signature");
  });
});

describe("readKeys", () => {
  it.each(["", "secret", "whsec_", "whsec_YWJj", `${secretOf()} whsec_?`])(
    "takes %j as no secret",
    (secret) => {
      expect(readKeys(secret)).toBeUndefined();
    },
  );
});

describe("gradeWebhook", () => {
  it.each([200, 202, 204])("takes status %i as accepted", (status) => {
    expect(judge(status)).toEqual({ kind: "accepted" });
  });

  it.each([400, 404, 405, 409, 422, 429, 500, 503])("tries again after status %i", (status) => {
    expect(judge(status)).toEqual({ kind: "retry", cause: `status ${status}` });
  });

  it.each([401, 403, 410])("takes status %i as a fault of the channel", (status) => {
    expect(judge(status)).toMatchObject({ kind: "retry", isChannelFault: true });
  });

  it("refuses only an event that is too large", () => {
    expect(judge(413)).toEqual({ kind: "refused", cause: "status 413" });
  });

  it("waits as long as it is asked to", () => {
    expect(judge(503, "7")).toMatchObject({ kind: "retry", afterMs: 7_000 });
  });

  it("says that a redirect is not followed", () => {
    expect(judge(302)).toMatchObject({ cause: "status 302: a redirect, which is not followed" });
  });
});
