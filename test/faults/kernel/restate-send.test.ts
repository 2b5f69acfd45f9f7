/** Calls of a Restate that accepts connections and answers nothing. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { patience, sendToRestate } from "#kernel/restate.ts";
import { timed } from "../../support/servers/hang.ts";

it("a call that a caller waits for is given up within ten seconds when Restate hangs", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/any`;

  const { answer, tookMs } = await timed(() =>
    sendToRestate(address, {}, patience.caller).catch((error: Error) => error.name),
  );

  expect(answer).toBe("TimeoutError");
  expect(tookMs).toBeLessThan(10_000);
});
