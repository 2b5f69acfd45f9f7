import { expect, it } from "vitest";
import { createWhyNobody } from "#app/monitor-secrets.ts";
import { readConfig } from "#config.ts";
import { anApiCheck } from "../support/monitor/check-builders.ts";

const incident = {
  VEDETTE_INCIDENT__URL: "https://incident.example.com",
  VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: "source",
  VEDETTE_ALERTS__PRODUCTION__TOKEN: "token",
};

const whyOf = (
  changes: Parameters<typeof anApiCheck>[0],
  environment: Record<string, string> = {},
) => createWhyNobody(readConfig({ environment }))(anApiCheck(changes));

const chat = { id: "chat", kind: "slack", url: "{{NEVER_SET}}" } as const;

it("a check whose incident service is not set up reaches nobody", () => {
  expect(whyOf({})).toBe("incident.url is not set");
});

it("a check whose alert source is not set up reaches nobody", () => {
  const { VEDETTE_INCIDENT__URL } = incident;

  expect(whyOf({}, { VEDETTE_INCIDENT__URL })).toBe(
    "alerts.production.source_id and its token are not set",
  );
});

it("a check whose incident service is set up reaches somebody", () => {
  expect(whyOf({}, incident)).toBeUndefined();
});

it("a check without a channel reaches nobody", () => {
  expect(whyOf({ channel: null }, incident)).toBe("it has no channel");
});

it("a check whose only channel lacks its secret reaches nobody", () => {
  expect(whyOf({ channel: null, directChannels: [chat] as never })).toBe(
    "VEDETTE_SECRET_NEVER_SET is not set",
  );
});

it("a check reaches somebody by one of its channels", () => {
  const open = { ...chat, url: "https://hooks.example.com/T" };

  expect(whyOf({ directChannels: [chat, open] as never })).toBeUndefined();
});
