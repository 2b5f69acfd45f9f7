/** What `vedette login --device` does while it is not answered as it asks. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { signInByCode } from "#cli/sign-in/login.ts";
import { makeSecret } from "#cli/token.ts";
import { PollAnswer } from "#control/sign-in/contract.ts";

const begun = {
  provider: "login.example.com",
  user_code: "ABCD-EFGH",
  verification_uri: "https://login.example.com/device",
  complete_uri: null,
  flow: "f",
  interval: 1,
  expires_in: 60,
};

const session = { token: "vds_x", actor: "ada", roles: ["read"], ends_at: "2026-11-25T00:00:00Z" };

/** A Vedette that answers so, one after the other; `askedAtMs`: when it was asked. */
async function startControl(answers: [number, object][]) {
  const askedAtMs: number[] = [];
  const server = createServer((request, response) => {
    request.resume();
    askedAtMs.push(performance.now());
    const [status, body] = answers.shift() ?? [500, {}];
    response.writeHead(status).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, askedAtMs };
}

it("asks again after being told that it asks too often, or that the provider is away", async () => {
  const { url } = await startControl([
    [200, begun],
    [429, { code: "too_many_attempts", detail: "Too many sign-ins from your address." }],
    [503, { code: "sign_in_unavailable", detail: "away" }],
    [200, { signed_in: session, interval: 5 }],
  ]);

  expect(await signInByCode(url, makeSecret())).toEqual(session);
});

it.each([0, -1, 0.001])(
  "pauses a second at least when it is told to ask every %d seconds",
  async (interval) => {
    const { url, askedAtMs } = await startControl([
      [200, { ...begun, interval }],
      [200, { signed_in: null, interval }],
      [200, { signed_in: session, interval }],
    ]);

    await signInByCode(url, makeSecret());

    const pauses = askedAtMs.slice(1).map((atMs, n) => atMs - (askedAtMs[n] ?? 0));
    // Timers of Node may end a millisecond early.
    expect(Math.min(...pauses)).toBeGreaterThan(990);
  },
);

it.each([61, 3e9, 1e300])("an answer that says %d seconds is read as a minute", (interval) => {
  expect(PollAnswer.parse({ signed_in: null, interval }).interval).toBe(60);
});
