import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderMessage } from "#notify/block-kit.ts";
import { ChatMessage } from "#notify/contract.ts";
import { buildMessage } from "../support/alerts/chat-builders.ts";
import { SlackMessage } from "../support/alerts/fake-chat.ts";

const anyText = () =>
  fc.oneof(
    fc.string({ unit: "grapheme-composite", maxLength: 200, size: "max" }),
    // Of what grows when it is escaped, of what a cut could split and of half a character that another
    // program has cut, up to above the longest limit.
    fc
      .array(fc.constantFrom("&", "<", ">", "😀", "\ud83d", "a"), { maxLength: 3_500, size: "max" })
      .map((parts) => parts.join("")),
  );

const anyMessage: fc.Arbitrary<ChatMessage> = fc.record({
  id: anyText().filter((text) => text !== ""),
  title: anyText(),
  tone: fc.constantFrom(...ChatMessage.shape.tone.options),
  lines: fc.array(anyText(), { maxLength: 3 }),
  fields: fc.array(fc.record({ name: anyText(), value: anyText() }), {
    maxLength: 12,
    size: "max",
  }),
});

const blocksOf = (message: ChatMessage) => SlackMessage.parse(renderMessage(message)).blocks;

describe("renderMessage", () => {
  it("stays within Slack's limits whatever the message holds", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const { success, error } = SlackMessage.safeParse(renderMessage(message));

        expect(error).toBeUndefined();
        expect(success).toBe(true);
      }),
      // Without shrinking: these messages are so long that it takes minutes.
      { numRuns: 100, endOnFailure: true },
    );
  });

  it("shows the title, the lines, the fields and the id", () => {
    const blocks = blocksOf(buildMessage({ lines: ["One.", "Two."] }));

    expect(blocks).toEqual([
      { type: "header", text: { type: "plain_text", text: "🔵 Wave started" } },
      { type: "section", text: { type: "mrkdwn", text: "One.\nTwo." } },
      {
        type: "section",
        fields: [{ type: "mrkdwn", text: "*Image*\nregistry.example.com/vedette/sentinel:v2" }],
      },
      { type: "context", elements: [{ type: "mrkdwn", text: "r-1#1" }] },
    ]);
  });

  it("leaves out the sections of a message that has a title only", () => {
    const blocks = blocksOf(buildMessage({ lines: [], fields: [] }));

    expect(blocks.map(({ type }) => type)).toEqual(["header", "context"]);
  });

  it("carries the id where a program finds it", () => {
    const { metadata } = SlackMessage.parse(renderMessage(buildMessage({ id: "r-9#4" })));

    expect(metadata.event_payload.id).toBe("r-9#4");
  });

  it("escapes what Slack would take for a mention or a link", () => {
    const [, section] = blocksOf(buildMessage({ lines: ["<!channel> & <https://x.example|y>"] }));

    expect(section).toMatchObject({
      text: { text: "&lt;!channel&gt; &amp; &lt;https://x.example|y&gt;" },
    });
  });

  it("has a text for readers that show no blocks", () => {
    const { text } = renderMessage(buildMessage({ title: "a<b", tone: "danger", lines: ["Why."] }));

    expect(text).toBe("🔴 a&lt;b: Why.");
  });

  it("marks a title that was too long with an ellipsis", () => {
    const [header] = blocksOf(buildMessage({ title: "x".repeat(500) }));

    expect(header).toMatchObject({ text: { text: expect.stringMatching(/^🔵 x{146}…$/u) } });
  });

  it("does not cut an escape in two", () => {
    const [, section] = blocksOf(buildMessage({ lines: [`${"x".repeat(2_996)}&&`] }));

    expect(section).toMatchObject({ text: { text: `${"x".repeat(2_996)}…` } });
  });
});
