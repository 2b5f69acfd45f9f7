import { expect, it } from "vitest";
import { createPreview } from "#alerts/preview.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { buildDirectOrder, buildOrder, noLinks } from "../support/alerts/alert-builders.ts";

const chat = DirectChannel.parse({ id: "production", kind: "slack", url: "{{SLACK_URL}}" });
const source = {
  url: "https://incidents.example.com",
  kind: "http",
  readToken: () => "t",
} as const;
const preview = createPreview({
  sourceOf: () => source,
  linkTo: noLinks,
  findChannel: async (id) => (id === chat.id ? chat : undefined),
});

it("an event of the incident service is shown as it is posted there", async () => {
  expect(await preview(buildOrder())).toMatchObject({
    address: source.url,
    body: { deduplication_key: "verify-key" },
  });
});

it.each<[object, string, object]>([
  [
    { kind: "slack", url: "{{SLACK_URL}}" },
    "{{SLACK_URL}}",
    { metadata: { event_payload: { id: "verify-key@production:1:opened" } } },
  ],
  [
    { kind: "webhook", url: "https://x.example.com/{{PATH}}" },
    "https://x.example.com/{{PATH}}",
    { type: "alert.firing", data: { check: "verify-key", dedup_key: "verify-key:1" } },
  ],
  [
    { kind: "pagerduty", secret: "{{PD_KEY}}" },
    "https://events.pagerduty.com/v2/enqueue",
    { event_action: "trigger", payload: { source: "verify-key" } },
  ],
  [
    {
      kind: "email",
      url: "smtps://mail.example.com",
      from: "v@example.com",
      to: ["a@example.com"],
    },
    "smtps://mail.example.com",
    { to: { address: "a@example.com" }, text: expect.stringContaining("verify-key") },
  ],
  [
    { kind: "syslog", url: "tls://{{HOST}}:6514" },
    "tls://{{HOST}}:6514",
    { event: "alert.firing", data: { check: "verify-key", dedup_key: "verify-key:1" } },
  ],
])(
  "an event of the channel %j shows its address without the secret, and the body that is sent",
  async (fields, address, body) => {
    const channel = DirectChannel.parse({ id: "production", ...fields });
    const find = createPreview({
      sourceOf: () => source,
      linkTo: noLinks,
      findChannel: async () => channel,
    });

    const shown = await find({ ...buildDirectOrder(channel), channel: channel.id });

    expect(shown).toMatchObject({ address, body });
  },
);

it("an event of a channel whose row is gone has no address", async () => {
  const order = { ...buildDirectOrder({ ...chat, id: "gone" }), channel: "gone" };

  expect(await preview(order)).toBeUndefined();
});
