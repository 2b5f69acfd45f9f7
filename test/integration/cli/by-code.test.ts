/** What `vedette login --device` does while it is not answered as it asks. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { signInByCode } from "#cli/sign-in/by-code.ts";
import { makeSecret } from "#cli/token.ts";

const begun = {
  provider: "login.example.com",
  user_code: "ABCD-EFGH",
  verification_uri: "https://login.example.com/device",
  complete_uri: null,
  flow: "f",
  interval: 0.01,
  expires_in: 60,
};

const session = { token: "vds_x", actor: "ada", roles: ["read"], ends_at: "2026-11-25T00:00:00Z" };

it("asks again after being told that it asks too often, or that the provider is away", async () => {
  const answers: [number, object][] = [
    [200, begun],
    [429, { code: "too_many_attempts", detail: "Too many sign-ins from your address." }],
    [503, { code: "sign_in_unavailable", detail: "away" }],
    [200, { signed_in: session, interval: 5 }],
  ];
  const server = createServer((request, response) => {
    request.resume();
    const [status, body] = answers.shift() ?? [500, {}];
    response.writeHead(status).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  expect(await signInByCode(url, makeSecret())).toEqual(session);
});
