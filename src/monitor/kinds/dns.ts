/** A check of DNS: asks name servers for the records of a name. */
import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { z } from "zod";
import { bareAddress } from "#kernel/address.ts";
import { unlessAborted } from "#kernel/async.ts";
import { cleanText, someOf } from "#kernel/text.ts";
import { formatDuration } from "#kernel/time.ts";
import { show } from "./assertions.ts";
import { timed } from "./connection.ts";
import { isHostName, Text } from "./fields.ts";
import { defineKind, failedBy } from "./kind.ts";
import { type Attempt, type Failure, observe, type TimeLimit } from "./observe.ts";
import { hostsIn } from "./request.ts";

const recordTypes = ["A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SRV", "TXT"] as const;
type RecordType = (typeof recordTypes)[number];

const Server = z
  .string()
  .max(60)
  .refine(
    isServer,
    "has to be the address of a name server, such as 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53",
  );

/** True for an address as Node takes it: one of IPv6 is in brackets when a port follows. */
function isServer(given: string): boolean {
  if (isIP(given) !== 0) return true;
  const [, inBrackets, plain, port] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(given) ?? [];
  const isAddress = isIP(inBrackets ?? "") === 6 || isIP(plain ?? "") === 4;
  return isAddress && Number(port) >= 1 && Number(port) <= 65_535;
}

const fields = {
  kind: z.literal("dns"),
  domain: z.string(),
  type: z.enum(recordTypes),
  /** Addresses, with or without a port; empty: those of the machine. */
  servers: z.array(z.string()),
  /** Values that have to be among the answers; empty: any answer is good. */
  expect: z.array(z.string()),
};

type DnsCheck = z.infer<z.ZodObject<typeof fields>>;

export const dns = defineKind({
  fields,
  row: {
    kind: z.literal("dns").describe("A question to name servers."),
    domain: z
      .string()
      .max(253)
      .refine(
        (given) => isHostName(given.replace(/\.$/, "")),
        "has to be the name to look up, such as example.com, in ASCII",
      )
      .describe("The name to look up."),
    type: z.enum(recordTypes).default("A").describe("The type of the records."),
    servers: z
      .array(Server)
      .max(5)
      .default([])
      .describe("Addresses of name servers. Default: those of the machine."),
    expect: z
      .array(Text)
      .max(50)
      .default([])
      .describe("Values that have to be among the answers. Default: any answer is good."),
  },
  lint({ type, expect }, complain) {
    const [form, example] = recordForms[type];
    for (const [index, value] of expect.entries()) {
      if (form.safeParse(value).success) continue;
      complain(["expect", index], `is no record of type ${type}, such as ${example}`);
    }
  },
  lintPlaceholders: () => {},
  toCheck: ({ kind, domain, type, servers, expect }) => ({ kind, domain, type, servers, expect }),
  describe({ domain, type, servers, expect }) {
    const details = [
      { name: "Expects", value: expect.join(", ") },
      { name: "Name servers", value: servers.join(", ") },
    ].filter(({ value }) => value !== "");
    return { method: "DNS", path: `${type} ${domain}`, details };
  },
  build: () => {},
  hostsOf: ({ servers }) => servers.flatMap((server) => hostsIn(`dns://${server}`)),
  probe: probeDns,
  grade: (check, { outcome }) => failedBy(faultOfRecords(check, outcome.values)),
  hosted: null,
});

const Form = z.string();
const ofName: [z.ZodType, string] = [Form.regex(/^[^\s"]+$/), "www.example.com"];

/** The notation of the values of records, as in zone files, with an example. */
const recordForms: Record<RecordType, [z.ZodType, string]> = {
  A: [z.ipv4(), "192.0.2.1"],
  AAAA: [z.ipv6(), "2001:db8::1"],
  CAA: [Form.regex(/^\d{1,3} [a-z0-9]+ ".*"$/i), '0 issue "ca.example.com"'],
  CNAME: ofName,
  MX: [Form.regex(/^\d{1,5} \S*$/), "10 mail.example.com"],
  NS: ofName,
  PTR: ofName,
  SRV: [Form.regex(/^\d{1,5} \d{1,5} \d{1,5} \S+$/), "0 5 443 host.example.com"],
  TXT: [Form.min(1), "v=spf1 -all"],
};

/** The limit is over all servers and tries. */
function probeDns(check: DnsCheck, limits: TimeLimit) {
  return observe<Records>(limits, async (attempt) => {
    for (const server of check.servers) {
      const [, port = "53"] = /^(?:\[.+\]|[^:]+):(\d+)$/.exec(server) ?? [];
      await attempt.reach.resolve(bareAddress(server), Number(port));
    }
    return ask(check, attempt, limits.timeoutMs);
  });
}

type Records = { kind: "records"; values: string[] };

async function ask(
  { domain, type, servers }: DnsCheck,
  { timing, signal }: Attempt,
  timeoutMs: number,
): Promise<Records | Failure> {
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
function isItself(value: string, { domain, type }: Pick<DnsCheck, "domain" | "type">): boolean {
  const norm = (name: string) => name.toLowerCase().replace(/\.$/, "");
  return type === "CNAME" && norm(value) === norm(domain);
}

/** Returns the record in the notation of zone files. */
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

/** Values that can be expected are no longer than this. */
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

/** null: all that is expected is among the values. Each may be written in another way that means the same. */
export function faultOfRecords(
  { type, expect }: Pick<DnsCheck, "type" | "expect">,
  values: readonly string[],
): string | null {
  const found = new Set(values.map((value) => normalize(type, value)));
  const missing = expect.find((value) => !found.has(normalize(type, value)));
  if (missing === undefined) return null;
  const shown = values.slice(0, shownValues).map(show);
  return `${type} is ${someOf(shown, shownValues, values.length)}, expected ${show(missing)} among them`;
}

const shownValues = 5;

/** Names have no case and may end with a dot; an address of IPv6 may have its zeros. */
function normalize(type: RecordType, value: string): string {
  if (type === "TXT") return value;
  const isAddress = type === "AAAA" && URL.canParse(`http://[${value}]`);
  return isAddress ? new URL(`http://[${value}]`).hostname : value.toLowerCase().replace(/\.$/, "");
}
