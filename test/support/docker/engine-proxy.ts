/** An engine's socket as one driver sees it, on which one change goes wrong. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { Agent, request } from "undici";
import { onTestFinished } from "vitest";
import { makeTempDir } from "../temp-dir.ts";

/**
 * The `at`th change, from 1, is lost `before` the engine has it, or its answer is. `isLast`: nothing gets through
 * afterwards, as if the process that asks were killed there.
 */
export type Fate = { at: number; when: "before" | "after"; isLast: boolean };

export async function startEngineProxy(socketPath: string, fate: Fate) {
  const dir = makeTempDir();
  const socket = path.join(dir.path, "proxy.sock");
  const agent = new Agent({ connect: { socketPath } });
  const fallen = Promise.withResolvers<void>();
  let changes = 0;
  let isOver = false;

  const fall = (incoming: IncomingMessage) => {
    isOver = fate.isLast;
    fallen.resolve();
    incoming.socket.destroy();
  };

  const forward = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (isOver) return incoming.socket.destroy();
    const isFated = isChange(incoming) && ++changes === fate.at;
    if (isFated && fate.when === "before") return fall(incoming);
    const answer = await request(`http://docker${incoming.url}`, {
      dispatcher: agent,
      method: incoming.method as "GET",
      headers: { "content-type": "application/json" },
      body: await bodyOf(incoming),
    });
    if (isFated) return fall(incoming);
    outgoing.writeHead(answer.statusCode, answer.headers as Record<string, string>);
    await pipeline(answer.body, outgoing);
  };

  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  server.listen(socket);
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await agent.destroy();
    dir.remove();
  });
  return { url: `unix://${socket}`, fallen: fallen.promise };
}

function isChange({ method, url = "" }: IncomingMessage): boolean {
  return (method === "POST" || method === "DELETE") && !url.includes("/images/create");
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
