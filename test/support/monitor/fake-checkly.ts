/** As much of the hosted monitor's API as `checkly validate` and `deploy --preview` ask for. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

export type Resource = {
  logicalId: string;
  type: string;
  member: boolean;
  physicalId?: string | number;
  // biome-ignore lint/suspicious/noExplicitAny: a payload of the vendor's, looked into by tests
  payload: any;
};

type Deploy = { project: unknown; resources: Resource[] };

export async function startFakeCheckly() {
  const deploys: Deploy[] = [];
  const strays: string[] = [];
  const answer = async (incoming: IncomingMessage): Promise<unknown> => {
    const { pathname, searchParams } = new URL(incoming.url ?? "", "http://double");
    if (pathname === "/next/accounts/acct") {
      return { id: "acct", name: "Test", runtimeId: "2025.04", features: [] };
    }
    if (pathname === "/v1/runtimes") return [{ name: "2025.04", dependencies: {} }];
    if (pathname === "/v1/projects/deploy" && searchParams.get("dryRun") === "true") {
      const deploy = JSON.parse(await readBody(incoming)) as Deploy;
      deploys.push(deploy);
      const diff = deploy.resources.map(({ type, logicalId }) => ({
        type,
        logicalId,
        action: "CREATE",
      }));
      return { project: deploy.project, diff };
    }
    strays.push(`${incoming.method} ${incoming.url}`);
    return undefined;
  };
  const server = createServer(async (incoming, outgoing) => {
    const body = await answer(incoming);
    outgoing
      .writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" })
      .end(JSON.stringify(body ?? {}));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    /** What was sent to be deployed, in order. */
    deploys,
    /** What was asked for that this double does not have. */
    strays,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  return (incoming.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString();
}
