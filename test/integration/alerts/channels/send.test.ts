/** The channels that speak HTTP, against receivers of ours. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSendToChannel } from "#alerts/channels/send.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import {
  buildMessage,
  pagerDutyChannel,
  slackChannel,
  webhookChannel,
} from "../../../support/alerts/message-builders.ts";
import { secretsFrom } from "../../../support/monitor/standard-definitions.ts";

type Received = { headers: Record<string, string>; body: string };
type Answer = (incoming: IncomingMessage, outgoing: ServerResponse, body: string) => void;

async function startReceiver(answer: Answer) {
  const received: Received[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    received.push({ headers: incoming.headers as Record<string, string>, body });
    answer(incoming, outgoing, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token-1` };
}

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

function createSender(url: string, timeoutMs = 500) {
  const secrets: Record<string, string> = {
    SLACK_URL: url,
    HOOK_URL: url,
    PAGER_URL: url,
    HOOK_SECRET: secret,
    PAGER_KEY: "r".repeat(32),
  };
  return createSendToChannel({
    readSecret: secretsFrom(secrets, "127.0.0.1"),
    timeoutMs,
    nowMs: Date.now,
  });
}

const channels: DirectChannel[] = [slackChannel, webhookChannel, pagerDutyChannel];

describe("an attempt", () => {
  it.each(channels)("at $kind that hangs ends in time, and quotes no address", async (channel) => {
    const { url } = await startReceiver(() => {});
    const beganAtMs = performance.now();

    const outcome = await createSender(url)(channel, buildMessage());

    expect(outcome).toMatchObject({ kind: "retry" });
    expect(performance.now() - beganAtMs).toBeLessThan(2_000);
    expect(JSON.stringify(outcome)).not.toMatch(/token-1|127\.0\.0\.1|rrr/);
  });

  it.each(channels)("at $kind does not follow a redirect", async (channel) => {
    const elsewhere = await startReceiver((_, outgoing) => outgoing.end());
    const { url } = await startReceiver((_, outgoing) =>
      outgoing.writeHead(307, { location: elsewhere.url }).end(),
    );

    const outcome = await createSender(url)(channel, buildMessage());

    expect(outcome.kind).not.toBe("accepted");
    expect(elsewhere.received).toEqual([]);
  });

  it.each(channels)("at $kind whose connection breaks is retried", async (channel) => {
    const { url } = await startReceiver((incoming) => incoming.socket.destroy());

    expect(await createSender(url)(channel, buildMessage())).toMatchObject({ kind: "retry" });
  });

  it("at a webhook is signed anew each time, under the same id", async () => {
    const receiver = await startReceiver((_, outgoing) =>
      outgoing.writeHead(receiver.received.length === 1 ? 500 : 200).end(),
    );
    const send = createSender(receiver.url);

    expect(await send(webhookChannel, buildMessage())).toMatchObject({ kind: "retry" });
    expect(await send(webhookChannel, buildMessage())).toEqual({ kind: "accepted" });

    const webhook = new Webhook(secret);
    for (const { headers, body } of receiver.received) webhook.verify(body, headers);
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([
      "verify-key:3:opened",
      "verify-key:3:opened",
    ]);
  });

  it("sends nothing to a receiver that has asked to wait", async () => {
    const receiver = await startReceiver((_, outgoing) =>
      outgoing.writeHead(429, { "retry-after": "20" }).end(),
    );
    const send = createSender(receiver.url);

    expect(await send(webhookChannel, buildMessage())).toMatchObject({ afterMs: 20_000 });
    expect(await send(webhookChannel, buildMessage())).toMatchObject({ isPaced: true });
    expect(receiver.received).toHaveLength(1);
  });
});

/** Open alerts by key, and what was paged: as PagerDuty has them. */
function createPagerDuty() {
  const open = new Set<string>();
  const paged: string[] = [];
  const faults: string[] = [];
  const answer: Answer = (_, outgoing, body) => {
    const event = JSON.parse(body) as Record<string, string>;
    const key = `${event["routing_key"]} ${event["dedup_key"]}`;
    if (event["routing_key"]?.length !== 32) faults.push("routing_key");
    if (event["event_action"] === "resolve") open.delete(key);
    else if (!open.has(key)) {
      open.add(key);
      paged.push(key);
    }
    outgoing.writeHead(202).end('{"status":"success"}');
  };
  return { open, paged, faults, answer };
}

describe("PagerDuty", () => {
  it("pages once for each episode, and has nothing open after the recovery", async () => {
    const pagerDuty = createPagerDuty();
    const { url } = await startReceiver(pagerDuty.answer);
    const send = createSender(url);

    for (const episode of [1, 2]) {
      await send(pagerDutyChannel, buildMessage({ episode }));
      await send(pagerDutyChannel, buildMessage({ episode }));
      await send(pagerDutyChannel, buildMessage({ episode, kind: "resolved" }));
    }

    expect(pagerDuty.paged).toHaveLength(2);
    expect([...pagerDuty.open]).toEqual([]);
    expect(pagerDuty.faults).toEqual([]);
  });
});

describe("500 checks that fail together", () => {
  it("arrive once each at a receiver that takes five at once", async () => {
    let running = 0;
    const taken: string[] = [];
    const receiver = await startReceiver((_, outgoing, body) => {
      if (running >= 5) return void outgoing.writeHead(429).end();
      running += 1;
      setTimeout(() => {
        running -= 1;
        taken.push((JSON.parse(body) as { id: string }).id);
        outgoing.end();
      }, 5);
    });
    // A busy machine answers late: an attempt that is given up arrives a second time.
    const send = createSender(receiver.url, 60_000);
    let waits = 0;
    const deliver = async (checkId: string): Promise<void> => {
      for (;;) {
        const outcome = await send(webhookChannel, buildMessage({ checkId }));
        if (outcome.kind === "accepted") return;
        if (outcome.kind !== "retry") throw new Error(outcome.kind);
        waits += 1;
        await new Promise((resolve) =>
          setTimeout(resolve, Math.min(outcome.afterMs ?? 100, 1_000)),
        );
      }
    };

    await Promise.all(Array.from({ length: 500 }, (_, i) => deliver(`check-${i}`)));

    expect(new Set(taken).size).toBe(500);
    expect(taken).toHaveLength(500);
    expect(waits).toBeGreaterThan(0);
  });
});

describe("a secret that is not meant for the receiver", () => {
  const sendTo = async (channel: DirectChannel, hosts: string) => {
    const { received, url } = await startReceiver((_, outgoing) => outgoing.writeHead(202).end());
    const readSecret = secretsFrom({ HOOK_SECRET: secret, PAGER_KEY: "r".repeat(32) }, hosts);
    const send = createSendToChannel({ readSecret, timeoutMs: 5_000, nowMs: Date.now });
    return { outcome: await send({ ...channel, url }, buildMessage()), received };
  };

  it.each([webhookChannel, pagerDutyChannel])("is not used at $kind", async (channel) => {
    const { outcome, received } = await sendTo(channel, "other.example");

    expect(outcome).toMatchObject({
      ...{ kind: "retry", isChannelFault: true },
      cause: expect.stringMatching(/^\{\{\w+\}\} may not go to 127\.0\.0\.1:\d+: if it is meant/),
    });
    expect(received).toEqual([]);
  });

  it.each([webhookChannel, pagerDutyChannel])("is used at $kind once it is", async (channel) => {
    const { outcome, received } = await sendTo(channel, "127.0.0.1");

    expect(outcome).toEqual({ kind: "accepted" });
    expect(received).toHaveLength(1);
  });
});
