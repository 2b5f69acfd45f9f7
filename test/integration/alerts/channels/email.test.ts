/** E-mail to a real SMTP server. */
import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import type { AlertMessage } from "#alerts/channels/message.ts";
import { createSendToChannel } from "#alerts/channels/send.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { buildMessage, emailChannel } from "../../../support/alerts/message-builders.ts";
import { createSelfSigned } from "../../../support/http/self-signed.ts";
import { secretsFrom } from "../../../support/monitor/standard-definitions.ts";
import { startMailServer } from "../../../support/servers/mail-server.ts";

function createSender(url: string, given: Partial<ChannelOf<"email">> = {}) {
  const secrets: Record<string, string> = { MAIL_URL: url, MAIL_PASSWORD: "pass-word-1" };
  const channel = { ...emailChannel, ...given };
  const send = createSendToChannel({
    readSecret: secretsFrom(secrets, new URL(url).hostname),
    timeoutMs: 4_000,
    nowMs: Date.now,
  });
  return (message: AlertMessage = buildMessage()) => send(channel, message);
}

const headerOf = (text: string, name: string) =>
  new RegExp(`^${name}: (.*(?:\r\n[ \t].*)*)`, "im").exec(text)?.[1]?.replaceAll(/\s+/g, " ");

const own = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

describe("a mail", () => {
  it("arrives with text and HTML, and nobody answers it automatically", async () => {
    const server = await startMailServer();

    const outcome = await createSender(server.url)();

    expect(outcome).toEqual({ kind: "accepted" });
    const [mail] = server.mails;
    expect(headerOf(mail?.text ?? "", "Subject")).toBe("[production] Verify key");
    expect(headerOf(mail?.text ?? "", "Auto-Submitted")).toBe("auto-generated");
    expect(headerOf(mail?.text ?? "", "Date")).toContain("01 Jan 2026");
    expect(mail?.text).toContain("multipart/alternative");
    expect(mail?.text).toContain("verify-key:3:opened");
  });

  it("of a recovery is in the thread of its failure, under the same subject", async () => {
    const server = await startMailServer();
    const send = createSender(server.url);

    await send();
    await send(buildMessage({ kind: "resolved" }));

    const [opened = "", resolved = ""] = server.mails.map(({ text }) => text);
    expect(headerOf(resolved, "In-Reply-To")).toBe(headerOf(opened, "Message-ID"));
    expect(headerOf(resolved, "References")).toBe(headerOf(opened, "Message-ID"));
    expect(headerOf(resolved, "Subject")).toBe(`Re: ${headerOf(opened, "Subject")}`);
  });

  it("has no header that a name brings", async () => {
    const server = await startMailServer();

    await createSender(server.url)(buildMessage({ name: "x\r\nBcc: other@example.com" }));

    expect(headerOf(server.mails[0]?.text ?? "", "Bcc")).toBeUndefined();
  });

  it.each([
    { code: 451, expected: { kind: "retry", cause: "status 451 5.1.1 of RCPT TO" } },
    { code: 550, expected: { kind: "refused", cause: "refused: status 550 5.1.1 of RCPT TO" } },
  ])("that the server answers with $code", async ({ code, expected }) => {
    const server = await startMailServer({ codeOf: () => code });

    expect(await createSender(server.url)()).toEqual(expected);
  });

  it("with a wrong password is a fault of the channel, which does not quote it", async () => {
    const server = await startMailServer({
      onAuth: (_, __, done) =>
        done(Object.assign(new Error("pass-word-1 is wrong"), { responseCode: 535 })),
    });

    const send = createSender(server.url, { user: "vedette", secret: "{{MAIL_PASSWORD}}" });

    const outcome = await send();
    expect(outcome).toMatchObject({ kind: "retry", isChannelFault: true });
    expect(JSON.stringify(outcome)).not.toContain("pass-word-1");
  });

  it("goes to each recipient by itself; a refused one is a remark", async () => {
    const server = await startMailServer({
      codeOf: (to) => (to === "gone@example.com" ? 550 : undefined),
    });
    const send = createSender(server.url, { to: ["a@example.com", "gone@example.com"] });

    expect(await send()).toEqual({
      kind: "accepted",
      remark: "recipient 2 of 2 refused: status 550 5.1.1 of RCPT TO",
    });
    expect(server.mails.map(({ to }) => to)).toEqual(["a@example.com"]);
  });

  it("is sent again only to those who do not have it yet", async () => {
    let isBusy = true;
    const server = await startMailServer({
      codeOf: (to) => (isBusy && to === "slow@example.com" ? 451 : undefined),
    });
    const send = createSender(server.url, { to: ["a@example.com", "slow@example.com"] });

    expect(await send()).toMatchObject({ kind: "retry" });
    isBusy = false;
    expect(await send()).toEqual({ kind: "accepted" });

    expect(server.mails.map(({ to }) => to)).toEqual(["a@example.com", "slow@example.com"]);
  });

  it.each(["hang", "drop"] as const)(
    "whose text has arrived is sent again under the same id after a %s",
    async (fate) => {
      let fates = [fate, undefined];
      const server = await startMailServer({
        afterData: () => {
          const [next, ...rest] = fates;
          fates = rest;
          return next;
        },
      });
      const send = createSender(server.url);
      const beganAtMs = performance.now();

      expect(await send()).toMatchObject({ kind: "retry" });
      expect(performance.now() - beganAtMs).toBeLessThan(12_000);
      expect(await send()).toEqual({ kind: "accepted" });

      const ids = server.mails.map(({ text }) => headerOf(text, "Message-ID"));
      expect(ids).toHaveLength(2);
      expect(ids[0]).toBe(ids[1]);
    },
  );

  it("goes by STARTTLS to this machine, whoever signed the certificate", async () => {
    const pair = await createSelfSigned(["localhost"], new Date(Date.now() + 3_600_000));
    const server = await startMailServer({
      ...pair,
      onAuth: ({ username }, _, done) => done(null, { user: username }),
    });
    const send = createSender(server.url, { user: "vedette", secret: "{{MAIL_PASSWORD}}" });

    expect(await send()).toEqual({ kind: "accepted" });
    expect(server.mails[0]).toMatchObject({ isSecure: true, user: "vedette" });
  });

  it.skipIf(own === undefined)(
    "never goes elsewhere under a certificate that is not valid",
    async () => {
      const pair = await createSelfSigned(["localhost"], new Date(Date.now() + 3_600_000));
      const server = await startMailServer(pair);

      const outcome = await createSender(`smtp://${own}:${server.port}`)();

      expect(outcome).toMatchObject({ kind: "retry" });
      expect(server.mails).toEqual([]);
    },
  );
});

it("a password is sent to no mail server that its list does not name", async () => {
  const server = await startMailServer();
  const send = createSendToChannel({
    readSecret: secretsFrom({ MAIL_PASSWORD: "pass-word-1" }, "mail.example.com"),
    timeoutMs: 1_500,
    nowMs: Date.now,
  });

  const channel = { ...emailChannel, url: server.url, secret: "{{MAIL_PASSWORD}}" };
  const outcome = await send(channel, buildMessage());

  expect(outcome).toMatchObject({
    ...{ kind: "retry", isChannelFault: true },
    cause: expect.stringMatching(
      /^\{\{MAIL_PASSWORD\}\} may not go to (?:127\.0\.0\.1|localhost):\d+/,
    ),
  });
  expect(server.mails).toEqual([]);
});
