/** Connections to an API server, which carry its certificate and ours. */
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import type { Identity } from "./identity.ts";
import type { ClusterAccess } from "./kubeconfig.ts";

type Certificates = Pick<Identity, "ca" | "cert" | "key">;

export type Connection = {
  of: (identity: Identity) => Dispatcher;
  stop: () => Promise<void>;
};

/** One agent for each set of certificates: when one has been replaced, calls in progress end on the old one. */
export function createConnection(access: ClusterAccess, connections: number): Connection {
  let made: { agent: Dispatcher; certificates: Certificates } | undefined;
  return {
    of: ({ ca, cert, key }) => {
      const certificates = { ca, cert, key };
      if (made !== undefined && isSame(made.certificates, certificates)) return made.agent;
      made?.agent.close().catch(() => {});
      made = { agent: createAgent(access, certificates, connections), certificates };
      return made.agent;
    },
    stop: async () => made?.agent.destroy(),
  };
}

function isSame(one: Certificates, other: Certificates): boolean {
  return (["ca", "cert", "key"] as const).every((name) => {
    const [left, right] = [one[name], other[name]];
    return left === undefined || right === undefined ? left === right : left.equals(right);
  });
}

function createAgent(
  { servername, isInsecure, proxyUrl }: ClusterAccess,
  { ca, cert, key }: Certificates,
  connections: number,
): Dispatcher {
  const tls = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
    rejectUnauthorized: !isInsecure,
  };
  if (proxyUrl === undefined)
    return new Agent({ connections, connect: { ...tls, timeout: 5_000 } });
  return new ProxyAgent({ uri: proxyUrl, connections, requestTls: tls });
}
