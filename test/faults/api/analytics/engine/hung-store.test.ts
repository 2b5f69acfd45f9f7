/** An analytics store that accepts connections and answers nothing. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { EngineClient } from "#api/analytics/engine/engine-client.ts";
import { timed } from "../../../../support/servers/hang.ts";

async function startSilent(): Promise<string> {
  const sockets: { destroy: () => void }[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("a query of a store that hangs fails within five seconds, as one of a store that is away", async () => {
  const client = new EngineClient({ url: await startSilent() }, "vedette");
  onTestFinished(() => client.close());
  const signal = AbortSignal.timeout(60_000);

  const { answer, tookMs } = await timed(() =>
    client.query({ sql: "SELECT 1", filters: {} }, signal).catch((error: unknown) => error),
  );

  expect(answer).toMatchObject({ failure: "away" });
  expect(tookMs).toBeLessThan(5_000);
});
