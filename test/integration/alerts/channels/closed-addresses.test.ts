/** Channels cannot be used to reach our own services; each attack arrives where they are not closed. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createSendToChannel } from "#alerts/channels/send.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { createReach } from "#kernel/reach.ts";
import {
  buildMessage,
  emailChannel,
  pagerDutyChannel,
  slackChannel,
  syslogChannel,
  webhookChannel,
} from "../../../support/alerts/message-builders.ts";
import { secretsFrom } from "../../../support/monitor/standard-definitions.ts";

async function startService() {
  const seen = { connections: 0 };
  const server = createServer((socket) => {
    seen.connections += 1;
    socket.on("error", () => {});
    socket.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { seen, port };
}

function sendTo(host: string, channel: DirectChannel, reach: ReturnType<typeof createReach>) {
  const web = `http://${host}/a`;
  const secrets: Record<string, string> = {
    ...{ SLACK_URL: web, HOOK_URL: web, PAGER_URL: web, MAIL_URL: `smtp://${host}` },
    LOGS_URL: `tls://${host}`,
    ...{
      HOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
      PAGER_KEY: "r".repeat(32),
    },
  };
  const readSecret = secretsFrom(secrets, host);
  return createSendToChannel({ readSecret, timeoutMs: 2_000, nowMs: Date.now, reach })(
    { ...channel, ...(channel.kind === "email" && { tls: "optional" as const }) },
    buildMessage(),
  );
}

const all: DirectChannel[] = [
  ...[slackChannel, webhookChannel, pagerDutyChannel, emailChannel, syslogChannel],
];
const spellings = all.flatMap((channel) =>
  ["127.0.0.1", "localhost", "2130706433"].map((host) => ({ kind: channel.kind, channel, host })),
);

it.each(spellings)("a channel of $kind does not reach a service as $host", async (of) => {
  const { channel, host } = of;
  const { seen, port } = await startService();
  const services = [{ name: "Restate", host: "127.0.0.1", port }];

  const outcome = await sendTo(`${host}:${port}`, channel, createReach({ services }));
  const refused = { ...seen };
  await sendTo(`${host}:${port}`, channel, createReach());

  expect(outcome).toEqual({
    kind: "retry",
    cause: "the address is one of Vedette's own services (Restate), to which we do not connect",
    isChannelFault: true,
  });
  expect(refused.connections).toBe(0);
  expect(seen.connections).toBeGreaterThan(0);
});

it.each(all)("a channel of $kind does not connect to the metadata service", async (channel) => {
  const outcome = await sendTo("169.254.169.254", channel, createReach());

  expect(outcome).toMatchObject({
    cause: "the address is a link-local or metadata address, to which we do not connect",
    isChannelFault: true,
  });
});

it.each(all)(
  "a channel of $kind leads to no private network where they are closed",
  async (channel) => {
    const reach = createReach({ closed: ["metadata", "loopback", "private"] });

    expect(await sendTo("10.1.2.3", channel, reach)).toMatchObject({
      cause: "the address is of a private network, to which we do not connect",
      isChannelFault: true,
    });
  },
);
