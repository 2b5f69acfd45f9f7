/** What `vedette login` takes for the browser's way back, on a port that any page may call. */
import { request } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { openCallbackServer } from "#cli/sign-in/by-browser.ts";

async function startServer() {
  const server = await openCallbackServer(undefined);
  onTestFinished(server.close);
  const waiting = server.wait("our-state", new AbortController().signal);
  /** A path as it is, also one that is no address. */
  const call = (path: string, method = "GET") =>
    new Promise<number | undefined>((resolve, reject) => {
      const { port } = new URL(server.redirectUri);
      const sent = request({ host: "127.0.0.1", port, path, method }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on("error", reject).end();
    });
  return { waiting, call };
}

it("goes on waiting after a request for anything else", async () => {
  const { waiting, call } = await startServer();
  const statuses = [
    await call("//"),
    await call("//[/callback?state=our-state"),
    await call("/"),
    await call("/callback?state=our-state", "POST"),
    await call("/callback?code=c&state=guessed"),
  ];

  const back = call("/callback?code=c&state=our-state");
  const { query, answer } = await waiting;
  answer("Done.");

  expect(statuses).toEqual([404, 404, 404, 404, 400]);
  expect(query).toBe("?code=c&state=our-state");
  expect(await back).toBe(200);
});

it("takes the way back once", async () => {
  const { waiting, call } = await startServer();
  const first = call("/callback?code=c&state=our-state");
  const { query, answer } = await waiting;

  const second = await call("/callback?code=another&state=our-state");
  answer("Done.");

  expect([query, second, await first]).toEqual(["?code=c&state=our-state", 400, 200]);
});
