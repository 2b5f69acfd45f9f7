/** Asks name servers for the records of a name. */
import { Resolver } from "node:dns/promises";
import { bareAddress } from "#kernel/address.ts";
import { cleanText } from "#kernel/clean-text.ts";
import { formatDuration } from "#kernel/duration.ts";
import { unlessAborted } from "#kernel/unless-aborted.ts";
import type { ProbeObservation, RunnableOf } from "#monitor/contract.ts";
import type { RecordType } from "#monitor/kinds/contract.ts";
import { timed } from "./connection.ts";
import { observe, type Run, type TimeLimit } from "./observe.ts";

type DnsTarget = Pick<RunnableOf<"dns">, "domain" | "type" | "servers">;

/** Never throws. The limit is over all servers and tries. */
export function probeDns(target: DnsTarget, limits: TimeLimit): Promise<ProbeObservation> {
  return observe(limits, async (run) => {
    for (const server of target.servers) {
      const [, port = "53"] = /^(?:\[.+\]|[^:]+):(\d+)$/.exec(server) ?? [];
      await run.reach.resolve(bareAddress(server), Number(port));
    }
    return ask(target, run, limits.timeoutMs);
  });
}

async function ask(
  { domain, type, servers }: DnsTarget,
  { timing, signal }: Run,
  timeoutMs: number,
): Promise<ProbeObservation["outcome"]> {
  const resolver = new Resolver({ timeout: tryTimeoutMs(timeoutMs), tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  try {
    const records = await timed(timing, "dns", () =>
      unlessAborted(resolver.resolve(domain, type), signal),
    );
    const values = (records as unknown[])
      .map((record) => cleanText(write(type, record), longestValue))
      .filter((value) => !isItself(value, { domain, type }));
    if (values.length === 0) return { kind: "error", reason: noRecords(type) };
    return { kind: "records", values };
  } catch (error) {
    const late = `no answer of a name server within ${formatDuration(timeoutMs)}`;
    const reason = signal.aborted ? late : describe(error as NodeJS.ErrnoException, type);
    const code = (error as NodeJS.ErrnoException).code ?? "";
    const isUnreached = signal.aborted || silence.has(code);
    return { kind: "error", reason, ...(isUnreached && { isUnreached: true as const }) };
  } finally {
    resolver.cancel();
  }
}

/** No name server answered. */
const silence: ReadonlySet<string> = new Set(["ETIMEOUT", "ECONNREFUSED"]);

/** Half of the time is for the second try and further servers. */
function tryTimeoutMs(timeoutMs: number): number {
  return Math.min(2_000, Math.max(100, Math.floor(timeoutMs / 4)));
}

/** The resolver names the domain itself when the answer has other records but no CNAME. */
function isItself(value: string, { domain, type }: Pick<DnsTarget, "domain" | "type">): boolean {
  const norm = (name: string) => name.toLowerCase().replace(/\.$/, "");
  return type === "CNAME" && norm(value) === norm(domain);
}

/** As zone files have it. */
function write(type: RecordType, record: unknown): string {
  const parts = record as Record<string, string | number>;
  switch (type) {
    case "MX":
      return `${parts["priority"]} ${parts["exchange"]}`;
    case "SRV":
      return `${parts["priority"]} ${parts["weight"]} ${parts["port"]} ${parts["name"]}`;
    case "TXT":
      return (record as string[]).join("");
    case "CAA": {
      const { critical, ...named } = parts;
      const [tag, value] = Object.entries(named).find(([name]) => name !== "type") ?? ["", ""];
      return `${critical} ${tag} "${value}"`;
    }
    default:
      return String(record);
  }
}

function describe({ code = "" }: NodeJS.ErrnoException, type: RecordType): string {
  if (code === "ENODATA") return noRecords(type);
  return faults[code] ?? `the name could not be looked up (${code})`;
}

/** What can be expected is no longer. */
const longestValue = 4_096;

const noRecords = (type: RecordType) => `the name has no records of type ${type}`;

const faults: Record<string, string> = {
  ENOTFOUND: "no such name",
  ESERVFAIL: "the name server failed (SERVFAIL)",
  EREFUSED: "the name server refused the query",
  ENOTIMP: "the name server does not know this type of record",
  EFORMERR: "the name server did not understand the query",
  EBADRESP: "the answer is not DNS",
  EBADNAME: "the name is not valid",
  ECONNREFUSED: "no name server could be reached",
  ETIMEOUT: "no answer of a name server in time",
};
