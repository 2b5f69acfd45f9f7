import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { postToSlack } from "#alerts/channels/slack.ts";
import { serveAnswer, writeWithoutEnd } from "../../support/servers/answering-server.ts";

const deliverTo = async (answer: (outgoing: ServerResponse) => void) =>
  postToSlack(
    `${await serveAnswer(answer)}/secret`,
    { text: "hello" },
    {
      timeoutMs: 5_000,
    },
  );

describe("an answer of the chat service", () => {
  it("that accepts and then never ends has the message delivered", async () => {
    const delivery = await deliverTo((outgoing) => void outgoing.writeHead(200).write("o"));

    expect(delivery).toEqual({ outcome: "delivered" });
  });

  it.each([
    [200, "delivered"],
    [404, "refused"],
  ])("of %i without an end is not read to its end", async (status, outcome) => {
    const written = { bytes: 0 };

    const delivery = await deliverTo((outgoing) =>
      writeWithoutEnd(outgoing.writeHead(status), written),
    );

    expect(delivery.outcome).toBe(outcome);
    expect(written.bytes).toBeLessThan(100_000_000);
  });

  it.each([301, 302, 303, 304, 307, 308])(
    "of %i is refused at once, and not asked where it leads",
    async (status) => {
      const asked: number[] = [];
      const elsewhere = await serveAnswer((outgoing) => {
        asked.push(status);
        outgoing.end("ok");
      });

      const delivery = await deliverTo((outgoing) =>
        outgoing.writeHead(status, { location: `${elsewhere}/secret` }).end(),
      );

      const cause = `status ${status}: a redirect, which is not followed`;
      expect(delivery).toEqual({ outcome: "refused", status, cause });
      expect(asked).toEqual([]);
    },
  );

  it("that is a page for people is no delivery: a proxy or a login has answered", async () => {
    const delivery = await deliverTo((outgoing) =>
      outgoing
        .writeHead(200, { "content-type": "text/html" })
        .end("\n<!doctype html><p>Sign in</p>"),
    );

    expect(delivery).toEqual({ outcome: "retry", cause: "status 200 with a page" });
  });

  it("of no content is a success", async () => {
    const delivery = await deliverTo((outgoing) => void outgoing.writeHead(204).end());

    expect(delivery).toEqual({ outcome: "delivered" });
  });
});
