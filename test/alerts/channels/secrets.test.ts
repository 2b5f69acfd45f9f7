import { describe, expect, it } from "vitest";
import { credentialsIn, findDestination } from "#alerts/channels/secrets.ts";
import { pagerDutyChannel, slackChannel } from "../../support/alerts/message-builders.ts";
import { secretsFrom } from "../../support/monitor/standard-definitions.ts";

const reader = (secrets: Record<string, string>, hosts = "pager.example.com chat.example.com") =>
  secretsFrom(secrets, hosts);

describe("findDestination", () => {
  it("fills a whole address and the secret", () => {
    const readSecret = reader({ PAGER_URL: "https://pager.example.com/v2", PAGER_KEY: "k" });

    expect(findDestination(pagerDutyChannel, readSecret)).toMatchObject({
      address: new URL("https://pager.example.com/v2"),
      secret: "k",
    });
  });

  it("encodes a part of an address", () => {
    const channel = { ...slackChannel, url: "https://chat.example.com/{{PART}}" };

    expect(findDestination(channel, reader({ PART: "a/../b" }))).toMatchObject({
      address: new URL("https://chat.example.com/a%2F..%2Fb"),
    });
  });

  it("names the secret that is not set", () => {
    expect(findDestination(slackChannel, reader({}))).toEqual({
      kind: "retry",
      cause: "the secret VEDETTE_SECRET_SLACK_URL is not set",
      isChannelFault: true,
    });
  });

  it("names what is wrong with an address that a secret has", () => {
    const outcome = findDestination(
      slackChannel,
      reader({ SLACK_URL: "https://chat.example.com/a#hunter2" }),
    );

    expect(outcome).toMatchObject({
      cause: expect.stringMatching(/no address of https:\/\/ or http:\/\/: it has a #/),
    });
  });

  it.each(["not an address", "file:///etc/passwd", "smtp://mail.example.com"])(
    "does not send to %s, and does not quote it",
    (url) => {
      const outcome = findDestination(slackChannel, reader({ SLACK_URL: url }));

      expect(outcome).toMatchObject({ kind: "retry", isChannelFault: true });
      expect(JSON.stringify(outcome)).not.toContain(url);
    },
  );
});

it.each([
  ["smtp://ops:a%2Fb@mail.example.com", "a/b"],
  ["smtp://ops:100%@mail.example.com", "100%"],
])("reads the password of %s, encoded or not", (address, password) => {
  expect(credentialsIn(new URL(address))).toEqual({ user: "ops", password });
});
