import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createAttempt } from "#alerts/attempt.ts";
import { createSendToChannel } from "#alerts/channels/send.ts";
import { buildOrder, noLinks } from "../../support/alerts/alert-builders.ts";
import {
  buildMessage,
  pagerDutyChannel,
  slackChannel,
  webhookChannel,
} from "../../support/alerts/message-builders.ts";
import { secretsFrom } from "../../support/monitor/standard-definitions.ts";
import { neverAsked } from "../../support/never-asked.ts";
import {
  serveAnswer,
  serveRaw,
  unaskedInterims,
  writeWithoutEnd,
} from "../../support/servers/answering-server.ts";

const page = "<!doctype html><title>Sign in</title>";

const deliverTo = async (answer: (outgoing: ServerResponse) => void) =>
  deliverAt(await serveAnswer(answer));

function deliverAt(url: string) {
  const source = { url, kind: "http", readToken: () => "token" } as const;
  const parts = { sourceOf: () => source, linkTo: noLinks, timeoutMs: 1_000 };
  const direct = { send: neverAsked, findChannel: neverAsked, webhookUrlOf: () => "" };
  return createAttempt({ ...parts, ...direct })(buildOrder());
}

const written = { bytes: 0 };
const aBit = 30_000;

describe("a success whose body is a page for people", () => {
  it.each<[string, (outgoing: ServerResponse) => void]>([
    ["is longer than is read", (outgoing) => outgoing.end(page.padEnd(aBit))],
    ["never ends", (outgoing) => writeWithoutEnd(outgoing, written)],
    ["hangs in the midst", () => {}],
    ["breaks off", (outgoing) => setImmediate(() => outgoing.destroy())],
  ])("is no delivery, also when it %s", async (_, goOn) => {
    const outcome = await deliverTo((outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/html" }).write(page, () => goOn(outgoing));
    });

    expect(outcome).toEqual({ kind: "retry", cause: "status 200 with an error" });
    expect(written.bytes).toBeLessThan(100_000_000);
  });
});

it("a success whose body says nothing and does not end is a delivery", async () => {
  const outcome = await deliverTo((outgoing) => outgoing.writeHead(202).write("{"));

  expect(outcome).toEqual({ kind: "accepted" });
});

it("a refusal is read for its words however long it is", async () => {
  const error = { type: "rate_limit", rate_limit: { retry_after: "2999-01-01T00:00:00Z" } };

  const outcome = await deliverTo((outgoing) =>
    outgoing.writeHead(429).write(JSON.stringify(error), () => {}),
  );

  expect(outcome).toMatchObject({ kind: "retry", cause: "status 429 rate_limit" });
});

const accepted = 'HTTP/1.1 202 Accepted\r\ncontent-length: 20\r\n\r\n{"status":"success"}';

it.each(unaskedInterims)(
  "an alert is delivered once where %s comes before the answer",
  async (_, interim) => {
    const receiver = await serveRaw(interim + accepted);

    expect(await deliverAt(receiver.url)).toEqual({ kind: "accepted" });
    expect(receiver.requests).toBe(1);
  },
);

const channels = [slackChannel, webhookChannel, pagerDutyChannel].flatMap((channel) =>
  unaskedInterims.map(([name, interim]) => ({ channel, name, interim })),
);

it.each(channels)("$channel.kind gets a message once where it sends $name first", async (of) => {
  const receiver = await serveRaw(of.interim + accepted);
  const secrets: Record<string, string> = {
    HOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
    PAGER_KEY: "r".repeat(32),
  };
  const send = createSendToChannel({
    readSecret: (name) => secretsFrom({ [name]: secrets[name] ?? receiver.url }, "127.0.0.1")(name),
    timeoutMs: 30_000,
    nowMs: Date.now,
  });

  expect(await send(of.channel, buildMessage())).toEqual({ kind: "accepted" });
  expect(receiver.requests).toBe(1);
});

it("a refusal that is compressed is read for its words", async () => {
  const error = { type: "rate_limit", rate_limit: { retry_after: "2999-01-01T00:00:00Z" } };

  const outcome = await deliverTo((outgoing) =>
    outgoing.writeHead(429, { "content-encoding": "gzip" }).end(gzipSync(JSON.stringify(error))),
  );

  expect(outcome).toMatchObject({ kind: "retry", cause: "status 429 rate_limit" });
});
