/** The fields of checks of other kinds than HTTP. */
import { isIP } from "node:net";
import { z } from "zod";
import {
  maxSteps,
  type RecordType,
  recordTypes,
  startTlsProtocols,
} from "#monitor/kinds/contract.ts";
import { type CompleteStep, lintSteps, StepRow } from "./steps.ts";

const label = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
const hostName = new RegExp(`^(?:${label}\\.)*${label}$`);

const isHostName = (given: string) => given.length <= 253 && hostName.test(given);

const Host = z
  .string()
  .max(253)
  .refine(
    (given) => isIP(given) !== 0 || isHostName(given),
    "has to be the name or address of a host, such as db.example.com, without a port",
  );

const Port = z.int().min(1).max(65_535);

const Text = z
  .string()
  .min(1, "is empty")
  .max(4_096)
  .refine((given) => Buffer.byteLength(given) <= 4_096, "is longer than 4 KB");

const Server = z
  .string()
  .max(60)
  .refine(
    isServer,
    "has to be the address of a name server, such as 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53",
  );

/** As Node takes them: an address of IPv6 is in brackets when a port follows. */
function isServer(given: string): boolean {
  if (isIP(given) !== 0) return true;
  const [, inBrackets, plain, port] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(given) ?? [];
  const isAddress = isIP(inBrackets ?? "") === 6 || isIP(plain ?? "") === 4;
  return isAddress && Number(port) >= 1 && Number(port) <= 65_535;
}

const Days = z.int().min(0).max(1_000);

export const kindRows = {
  tcp: {
    kind: z.literal("tcp").describe("A connection of TCP."),
    host: Host.describe("The name or address of the server."),
    port: Port,
    send: Text.optional().describe("Sent when connected. May have {{NAME}} of a secret."),
    expect: Text.optional().describe(
      "A text that the first 4 KB of the answer contain. Default: a connection is enough.",
    ),
  },
  dns: {
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
  tls: {
    kind: z.literal("tls").describe("The certificate of a TLS server."),
    host: Host.describe("The name or address of the server."),
    port: Port.default(443),
    servername: z
      .string()
      .refine(isHostName, "has to be the name of a host, such as shop.example.com")
      .optional()
      .describe("The name that the certificate has to have. Default: host."),
    starttls: z
      .enum(startTlsProtocols)
      .optional()
      .describe("The protocol that starts TLS. Default: the connection begins with TLS."),
    degradedBelowDays: Days.default(30).describe(
      "A certificate that ends sooner is degraded, also that of an issuer.",
    ),
    failedBelowDays: Days.default(7).describe(
      "A certificate that ends sooner is failed, also that of an issuer.",
    ),
  },
  steps: {
    kind: z.literal("steps").describe("Requests of HTTP, one after the other."),
    steps: z.array(StepRow).min(1).max(maxSteps).describe("The first that fails ends the run."),
  },
};

type KindRow =
  | { kind: "tcp" }
  | { kind: "dns"; type: RecordType; expect: readonly string[] }
  | { kind: "tls"; degradedBelowDays: number; failedBelowDays: number }
  | { kind: "steps"; steps: readonly CompleteStep[] };

/** What fields of a row must not say of each other. */
export function lintKind(
  row: KindRow,
  complain: (path: (string | number)[], message: string) => void,
): void {
  if (row.kind === "tls" && row.failedBelowDays > row.degradedBelowDays) {
    complain(["failedBelowDays"], "must not be above degradedBelowDays");
  }
  if (row.kind === "dns") {
    const [form, example] = recordForms[row.type];
    for (const [index, value] of row.expect.entries()) {
      if (form.safeParse(value).success) continue;
      complain(["expect", index], `is no record of type ${row.type}, such as ${example}`);
    }
  }
  if (row.kind === "steps") lintSteps(row.steps, complain);
}

const Form = z.string();
const ofName: [z.ZodType, string] = [Form.regex(/^[^\s"]+$/), "www.example.com"];

/** How the values of records are written, as in zone files, with an example. */
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
