/** The published client connects for each call (findings/kubernetes-client-node-connects-for-each-call.sh). */
import { Agent, type Dispatcher, ProxyAgent } from "#kernel/http.ts";
import type { Identity } from "./identity.ts";
import type { ClusterAccess } from "./kubeconfig.ts";

type Certificates = Pick<Identity, "ca" | "cert" | "key">;

export type Connection = {
  /** Watches stay open, and must not be what a call has to wait for. */
  of: (identity: Identity, isWatch: boolean) => Dispatcher;
  stop: () => Promise<void>;
};

type Agents = { calls: Dispatcher; watches: Dispatcher; certificates: Certificates };

/** Agents for each set of certificates: when one has been replaced, calls in progress end on the old ones. */
export function createConnection(access: ClusterAccess, mostCalls: number): Connection {
  let made: Agents | undefined;
  const make = (certificates: Certificates): Agents => ({
    calls: createAgent(access, certificates, mostCalls),
    watches: createAgent(access, certificates, null),
    certificates,
  });
  return {
    of: ({ ca, cert, key }, isWatch) => {
      const certificates = { ca, cert, key };
      if (made === undefined || !isSame(made.certificates, certificates)) {
        for (const agent of agentsOf(made)) agent.close().catch(() => {});
        made = make(certificates);
      }
      return isWatch ? made.watches : made.calls;
    },
    stop: async () => {
      await Promise.all(agentsOf(made).map((agent) => agent.destroy()));
    },
  };
}

function agentsOf(made: Agents | undefined): Dispatcher[] {
  return made === undefined ? [] : [made.calls, made.watches];
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
  connections: number | null,
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
