import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderSlack } from "#alerts/channels/slack.ts";
import { Notice } from "#alerts/contract.ts";
import { buildNotice } from "../../support/alerts/chat-builders.ts";
import { SlackMessage } from "../../support/alerts/fake-chat.ts";

const anyText = () =>
  fc.oneof(
    fc.string({ unit: "grapheme-composite", maxLength: 200, size: "max" }),
    // Of what grows when it is escaped, of what a cut could split and of half a character that another
    // program has cut, up to above the longest limit.
    fc
      .array(fc.constantFrom("&", "<", ">", "😀", "\ud83d", "a"), { maxLength: 3_500, size: "max" })
      .map((parts) => parts.join("")),
  );

const anyMessage: fc.Arbitrary<Notice> = fc.record({
  id: anyText().filter((text) => text !== ""),
  title: anyText(),
  tone: fc.constantFrom(...Notice.shape.tone.options),
  lines: fc.array(anyText(), { maxLength: 3 }),
  fields: fc.array(fc.record({ name: anyText(), value: anyText() }), {
    maxLength: 12,
    size: "max",
  }),
});

const renderNotice = (notice: Notice) =>
  renderSlack({ kind: "notice", eventId: notice.id, atMs: 0, url: null, notice }, {});

const blocksOf = (message: Notice) => SlackMessage.parse(renderNotice(message)).blocks;

describe("a notice as Slack gets it", () => {
  it("stays within Slack's limits whatever the message holds", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const { success, error } = SlackMessage.safeParse(renderNotice(message));

        expect(error).toBeUndefined();
        expect(success).toBe(true);
      }),
      // Without shrinking: these messages are so long that it takes minutes.
      { numRuns: 100, endOnFailure: true },
    );
  });

  it("shows the title, the lines, the fields and the id", () => {
    const blocks = blocksOf(buildNotice({ lines: ["One.", "Two."] }));

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

  it("lets no text of others mention a channel or become a link", () => {
    const reason = "paused: @channel see https://a.example";
    const { blocks } = renderNotice(
      buildNotice({ lines: [reason], fields: [{ name: "Reason", value: reason }] }),
    );

    expect(blocks?.slice(1, 3)).toEqual([
      { type: "section", text: { type: "mrkdwn", verbatim: true, text: reason } },
      {
        type: "section",
        fields: [{ type: "mrkdwn", verbatim: true, text: `*Reason*\n${reason}` }],
      },
    ]);
  });

  it("leaves out the sections of a message that has a title only", () => {
    const blocks = blocksOf(buildNotice({ lines: [], fields: [] }));

    expect(blocks.map(({ type }) => type)).toEqual(["header", "context"]);
  });

  it("carries the id where a program finds it", () => {
    const { metadata } = SlackMessage.parse(renderNotice(buildNotice({ id: "r-9#4" })));

    expect(metadata.event_payload.id).toBe("r-9#4");
  });

  it("escapes what Slack would take for a mention or a link", () => {
    const [, section] = blocksOf(buildNotice({ lines: ["<!channel> & <https://x.example|y>"] }));

    expect(section).toMatchObject({
      text: { text: "&lt;!channel&gt; &amp; &lt;https://x.example|y&gt;" },
    });
  });

  it("has a text for readers that show no blocks", () => {
    const { text } = renderNotice(buildNotice({ title: "a<b", tone: "danger", lines: ["Why."] }));

    expect(text).toBe("🔴 a&lt;b: Why.");
  });

  it("marks a title that was too long with an ellipsis", () => {
    const [header] = blocksOf(buildNotice({ title: "x".repeat(500) }));

    expect(header).toMatchObject({ text: { text: expect.stringMatching(/^🔵 x{146}…$/u) } });
  });

  it("does not cut an escape in two", () => {
    const [, section] = blocksOf(buildNotice({ lines: [`${"x".repeat(2_996)}&&`] }));

    expect(section).toMatchObject({ text: { text: `${"x".repeat(2_996)}…` } });
  });
});
