/** Opens a TLS connection to look at the certificate. */
import type { ProbeObservation, RunnableOf } from "#monitor/contract.ts";
import { openTlsConnection } from "./connection.ts";
import { observe, type TimeLimit } from "./observe.ts";

type TlsTarget = Pick<RunnableOf<"tls">, "host" | "port" | "servername" | "starttls">;

/** Never throws. `ca`: certificates to trust instead of those of the system (PEM). */
export function probeTls(
  { host, port, ...secured }: TlsTarget,
  { ca, ...limits }: TimeLimit & { ca?: string },
): Promise<ProbeObservation> {
  return observe(limits, async (run) => {
    const opening = { ...run, ...(ca !== undefined && { ca }) };
    const socket = await openTlsConnection({ hostname: host, port }, secured, opening);
    socket.destroy();
    return { kind: "certificate" };
  });
}
