import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gradeSlack, renderSlack } from "#alerts/channels/slack.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";

const mention = "<!here>";
type Block = { type: string; text?: { type: string; text: string } };
const blocksOf = (message: ReturnType<typeof buildMessage>) =>
  (renderSlack(message, { mention }).blocks ?? []) as Block[];

describe("renderSlack", () => {
  it("has the same beginning in the text and in the first block", () => {
    const rendered = renderSlack(buildMessage(), {});

    expect(rendered.text).toBe("🔴 Failed: Verify key: status 500");
    expect(blocksOf(buildMessage())[0]?.text).toMatchObject({
      type: "plain_text",
      text: rendered.text,
    });
  });

  it("lets a name mention nobody", () => {
    const rendered = renderSlack(buildMessage({ name: "<!channel>" }), {});

    expect(JSON.stringify([rendered.text, rendered.blocks?.[1]])).not.toContain("<!channel>");
  });

  it.each([
    { name: "a failure", message: buildMessage(), isMentioned: true },
    { name: "a recovery", message: buildMessage({ kind: "resolved" }), isMentioned: false },
    { name: "a test", message: buildMessage({ isTest: true }), isMentioned: false },
  ])("mentions people or not: $name", ({ message, isMentioned }) => {
    expect(JSON.stringify(blocksOf(message)).includes(mention)).toBe(isMentioned);
  });

  it("has the event's id and a button to the check", () => {
    const text = JSON.stringify(blocksOf(buildMessage()));

    expect(text).toContain("verify-key:3:opened");
    expect(text).toContain('"url":"https://vedette.example.com/console/checks/verify-key"');
  });

  it("stays within Slack's limits whatever the texts are", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 9_000 }),
        fc.string({ maxLength: 9_000 }),
        (name, reason) => {
          const message = buildMessage({ name, reason, locations: [reason, name] });
          const { text = "", blocks } = renderSlack(message, { mention });

          expect(text.length).toBeLessThanOrEqual(3_000);
          expect(JSON.stringify(blocks).isWellFormed()).toBe(true);
          for (const block of blocksOf(message)) {
            expect(block.text?.text.length ?? 1).toBeLessThanOrEqual(3_000);
            expect(block.text?.text.length ?? 1).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe("gradeSlack", () => {
  it.each([302, 308, 401, 403, 404, 405, 407, 410])(
    "takes status %i as a fault of the channel",
    (status) => {
      const outcome = gradeSlack({ outcome: "refused", cause: `status ${status}`, status });

      expect(outcome).toMatchObject({ kind: "retry", isChannelFault: true });
    },
  );

  it("takes status 400 as a refusal of the event", () => {
    const answer = { outcome: "refused", cause: "status 400 invalid_blocks", status: 400 } as const;

    expect(gradeSlack(answer)).toEqual({ kind: "refused", cause: "status 400 invalid_blocks" });
  });

  it("hands on how long Slack asks to wait", () => {
    const answer = { outcome: "retry", cause: "status 429", afterMs: 7_000 } as const;

    expect(gradeSlack(answer)).toEqual({ kind: "retry", cause: "status 429", afterMs: 7_000 });
  });
});
