/** Restate's address: an http URL, or a unix socket written as `http+unix://<path>/…`. */
import { Agent, request } from "./http.ts";

const socketScheme = "http+unix://";

/** The address of a server at a unix socket. A URL path may be appended to it. */
export function socketAddress(socketPath: string): string {
  return `${socketScheme}${encodeURIComponent(socketPath)}`;
}

export type RestateAddress = { url: string; socketPath: string | undefined };

/** The URL to request and the socket to connect to, which is undefined for a plain http address. */
export function reachAddress(address: string): RestateAddress {
  if (!address.startsWith(socketScheme)) return { url: address, socketPath: undefined };
  const [host = "", ...path] = address.slice(socketScheme.length).split("/");
  const url = ["http://localhost", ...path].join("/");
  return { url, socketPath: decodeURIComponent(host) };
}

/** undici's `request`, to an address of either kind. */
export function requestRestate(
  address: string,
  options: NonNullable<Parameters<typeof request>[1]>,
): ReturnType<typeof request> {
  const { url, socketPath } = reachAddress(address);
  if (socketPath === undefined) return request(url, options);
  return request(url, { ...options, dispatcher: agentOf(socketPath) });
}

/** Throws unless the server takes calls at its ingress. The caller limits the time. */
export async function requireHealth(ingressUrl: string): Promise<void> {
  const answer = await requestRestate(`${ingressUrl}/restate/health`, {
    method: "GET",
    ...healthLimits,
  });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`Restate answered ${answer.statusCode}`);
}

const healthLimits = { headersTimeout: 2_000, bodyTimeout: 2_000 };

const agents = new Map<string, Agent>();

/** One agent per socket, never closed: a program has two, and idle connections keep no process alive. */
function agentOf(socketPath: string): Agent {
  const known = agents.get(socketPath);
  if (known !== undefined) return known;
  const agent = new Agent({ connect: { socketPath, timeout: 5_000 } });
  agents.set(socketPath, agent);
  return agent;
}
