/** Calls of a Restate that accepts connections and answers nothing. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { patience, sendToRestate } from "#kernel/ingress.ts";
import { timed } from "../../support/servers/hang.ts";

it("a call that a caller waits for is given up within ten seconds when Restate hangs", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const ingressUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const { answer, tookMs } = await timed(() =>
    sendToRestate({ ingressUrl, path: "/any/one" }, {}, patience.caller).catch(
      (error: Error) => error.message,
    ),
  );

  expect(answer).toBe("Restate's ingress does not answer (/any/one/send)");
  expect(tookMs).toBeLessThan(10_000);
});
