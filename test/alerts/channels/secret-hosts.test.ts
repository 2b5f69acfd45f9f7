/** Channels whose secrets would go to a server that is not meant to have them. */
import { describe, expect, it } from "vitest";
import { findDestination } from "#alerts/channels/secrets.ts";
import { createSendToChannel } from "#alerts/channels/send.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { withUnset } from "#kernel/secrets.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";
import { secretsFrom } from "../../support/monitor/standard-definitions.ts";

const readSecret = secretsFrom(
  {
    BASE: "https://good.example",
    USER_BASE: "https://ops:pw@good.example/a",
    MAIL: "smtp://mail.example:587",
    PAGER_KEY: "k-e-y",
    SIGNING: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
    KEY: "a-key",
  },
  "events.example",
);
/** The same secrets without lists. */
const unlisted = (name: string) => {
  const secret = readSecret(name);
  return secret && { ...secret, bindings: [{ name, hosts: undefined }] };
};

const webhook = (url: string, secret?: string): DirectChannel => ({
  ...{ id: "hook", kind: "webhook", url },
  ...(secret !== undefined && { secret }),
});
const pager = (url: string): DirectChannel => ({
  ...{ id: "pager", kind: "pagerduty", url, secret: "{{PAGER_KEY}}" },
});
const mail = (url: string, secret = "{{PAGER_KEY}}"): DirectChannel => ({
  ...{ id: "mail", kind: "email", url, secret, tls: "required" },
  ...{ from: "vedette@example.com", to: ["ops@example.com"] },
});

const attacks: [string, DirectChannel, string][] = [
  [
    "a key to another host",
    pager("https://evil.example/v2"),
    "{{PAGER_KEY}} may not go to evil.example",
  ],
  [
    "a part of an address",
    webhook("https://evil.example/{{PAGER_KEY}}"),
    "{{PAGER_KEY}} may not go to",
  ],
  [
    "a part of a name",
    webhook("https://{{PAGER_KEY}}.evil.example/"),
    "{{PAGER_KEY}} may not go to {{PAGER_KEY}}.evil.example",
  ],
  [
    "a signature for another receiver",
    webhook("https://evil.example/", "{{SIGNING}}"),
    "{{SIGNING}} may not go to evil.example",
  ],
  [
    "a signature for a receiver that is secret",
    webhook("{{BASE}}", "{{SIGNING}}"),
    "{{SIGNING}} may not go to {{BASE}}",
  ],
  [
    "a password to another mail server",
    mail("smtps://evil.example"),
    "{{PAGER_KEY}} may not go to evil.example",
  ],
  [
    "a password to a mail server that is secret",
    mail("{{MAIL}}"),
    "{{PAGER_KEY}} may not go to {{MAIL}}",
  ],
  [
    "an address that continues with another name",
    webhook("{{BASE}}.evil.example/"),
    "{{BASE}} may not go to {{BASE}}.evil.example",
  ],
  [
    "an address that becomes a user",
    webhook("{{BASE}}@evil.example/"),
    "{{BASE}} may not go to evil.example",
  ],
  [
    "an address with another port",
    webhook("{{BASE}}:8443/"),
    "{{BASE}} may not go to {{BASE}}:8443",
  ],
  ["a secret behind an address", webhook("{{BASE}}{{PAGER_KEY}}"), "{{"],
  [
    "a secret behind the path of an address",
    webhook("{{USER_BASE}}{{PAGER_KEY}}"),
    "{{PAGER_KEY}} may not go to",
  ],
  [
    "the key of checks",
    webhook("https://events.example/{{KEY}}"),
    "{{KEY}} goes only below monitor.base_url",
  ],
];

describe.each(attacks)("%s", (_, channel, told) => {
  it("is sent nowhere", async () => {
    const send = createSendToChannel({ readSecret, timeoutMs: 1_000, nowMs: Date.now });

    const outcome = await send(channel, buildMessage());

    expect(outcome).toMatchObject({ kind: "retry", isChannelFault: true });
    expect(outcome).toHaveProperty("cause", expect.stringContaining(told));
    expect(JSON.stringify(outcome)).not.toMatch(/k-e-y|whsec_|a-key|ops:pw|good\.example/);
  });

  it("is found in the row", () => {
    expect(() => findDestination(channel, readSecret)).toThrow(told);
  });
});

const uses: [string, DirectChannel][] = [
  ["a secret that is the whole address", webhook("{{BASE}}")],
  ["an address that continues with a path", webhook("{{BASE}}/vedette")],
  ["an address with a user", webhook("{{USER_BASE}}")],
  ["the address of a mail server", { ...mail("{{MAIL}}"), secret: undefined } as DirectChannel],
];

it.each(uses)("%s needs no list of hosts", (_, channel) => {
  expect(findDestination(channel, unlisted)).toHaveProperty("address");
});

it("a key goes to the host of its list", () => {
  const channel = pager("https://events.example/v2/enqueue");

  expect(findDestination(channel, readSecret)).toMatchObject({ secret: "k-e-y" });
});

it("a key without a list goes nowhere, and the refusal says what to set", () => {
  const channel = pager("https://events.pagerduty.com/v2/enqueue");

  expect(() => findDestination(channel, unlisted)).toThrow(
    "{{PAGER_KEY}} may not go to events.pagerduty.com: if it is meant for that host, set VEDETTE_SECRET_PAGER_KEY_HOSTS to events.pagerduty.com",
  );
});

it("a secret that is not set is no reason to refuse a row", () => {
  const none = withUnset(() => undefined);

  expect(findDestination(pager("https://evil.example/"), none)).toHaveProperty("address");
});
