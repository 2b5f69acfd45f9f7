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

it("an event of another channel shows its address without the secret, and what it says", async () => {
  const order = { ...buildDirectOrder(chat), channel: chat.id };

  expect(await preview(order)).toMatchObject({
    address: "{{SLACK_URL}}",
    body: { kind: "firing", checkId: "verify-key", dedupKey: "verify-key:1" },
  });
});

it("an event of a channel whose row is gone has no address", async () => {
  const order = { ...buildDirectOrder({ ...chat, id: "gone" }), channel: "gone" };

  expect(await preview(order)).toBeUndefined();
});
