/** A TUF repository on loopback that has a trusted root, and can be away. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
// The package's main file would also load what patches `node:http`.
import { tufHandlers } from "@tufjs/repo-mock/dist/handler.js";
import { initializeTUFRepo } from "@tufjs/repo-mock/dist/repo.js";
import { onTestFinished } from "vitest";

export async function startTufMirror(trustedRoot: object) {
  const content = JSON.stringify(trustedRoot);
  const repository = initializeTUFRepo([{ name: "trusted_root.json", content }]);
  const handlers = new Map(
    tufHandlers(repository, { metadataPathPrefix: "" }).map(({ path, fn }) => [path, fn]),
  );
  const requests: string[] = [];
  const state = { behaviour: "answers" as "answers" | "fails" | "hangs" };
  const server = createServer(({ url = "" }, response) => {
    requests.push(url);
    if (state.behaviour === "hangs") return;
    if (state.behaviour === "fails") return void response.writeHead(503).end();
    const { statusCode, response: body } = handlers.get(url)?.() ?? {
      statusCode: 404,
      response: "",
    };
    response.writeHead(statusCode).end(body);
  });
  const stop = () => close(server);
  onTestFinished(stop);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    rootJson: JSON.stringify(repository.rootMeta.toJSON()),
    requests,
    state,
    stop,
  };
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
