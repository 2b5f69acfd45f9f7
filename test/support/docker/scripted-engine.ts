/** An engine that answers as the test says, whatever it is asked. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** `path`: without the version, and decoded. `true`: it has answered; else a usual engine with one container does. */
export type EngineScript = (
  asked: { method: string; path: string; version: string },
  answer: ServerResponse,
) => boolean | undefined;

const digest = `sha256:${"1".repeat(64)}`;
export const scriptedImage = `r.io/gateway:v1@${digest}`;

const listed = {
  Id: "c1",
  Names: ["/gw"],
  Image: "r.io/gateway:v1",
  ImageID: "sha256:i1",
  State: "running",
  Status: "Up 2 minutes",
  Labels: { "vedette.sentinel": "" },
};

const inspected = {
  Id: "c1",
  Name: "/gw",
  Image: "sha256:i1",
  State: { Status: "running", Running: true, StartedAt: "2026-01-01T00:00:00Z" },
  Config: { Image: "r.io/gateway:v1", Labels: listed.Labels },
  HostConfig: { NetworkMode: "host" },
  NetworkSettings: { Networks: {} },
};

const image = {
  Id: "sha256:i1",
  RepoTags: [],
  RepoDigests: [`r.io/gateway@${digest}`],
  Config: {},
};

export function answerJson(answer: ServerResponse, status: number, body: unknown): true {
  answer.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  return true;
}

function answerUsually(method: string, path: string, answer: ServerResponse): void {
  if (path === "/_ping") answer.writeHead(200, { "api-version": "1.41" }).end("OK");
  else if (path.startsWith("/containers/json")) answerJson(answer, 200, [listed]);
  else if (path.startsWith("/containers/c1/json")) answerJson(answer, 200, inspected);
  else if (path.startsWith("/images/") && method === "GET") answerJson(answer, 200, image);
  else answer.writeHead(204).end();
}

/** For the test that asks for it. `requests` counts all of them. */
export async function startScriptedEngine(script: EngineScript = () => false) {
  const state = { requests: 0 };
  const server = createServer(({ method = "", url = "" }, answer) => {
    state.requests++;
    const address = decodeURIComponent(url);
    const [, version = "", path = address] = /^\/v([\d.]+)(\/.*)$/.exec(address) ?? [];
    if (!script({ method, path, version }, answer)) answerUsually(method, path, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `tcp://127.0.0.1:${port}`, state };
}
