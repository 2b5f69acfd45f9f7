/** A check of TLS: opens a connection to read the certificate. */
import { z } from "zod";
import { openTlsConnection } from "./connection.ts";
import { Host, isHostName, Port, withPort } from "./fields.ts";
import { defineKind, type Wrong } from "./kind.ts";
import { observe, type TimeLimit } from "./observe.ts";
import { startTlsProtocols } from "./starttls.ts";

const Days = z.int().min(0).max(1_000);

const fields = {
  kind: z.literal("tls"),
  host: z.string(),
  port: z.int(),
  /** The name that the certificate has to have. */
  servername: z.string(),
  /** The protocol in which TLS is started; absent: the connection begins with TLS. */
  starttls: z.enum(startTlsProtocols).optional(),
  /** Limits of the days until the certificate ends. */
  degradedBelowDays: z.int(),
  failedBelowDays: z.int(),
};

type TlsCheck = z.infer<z.ZodObject<typeof fields>>;

export const tls = defineKind({
  fields,
  row: {
    kind: z.literal("tls").describe("The certificate of a TLS server."),
    host: Host,
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
  lint({ failedBelowDays, degradedBelowDays }, complain) {
    if (failedBelowDays > degradedBelowDays) {
      complain(["failedBelowDays"], "must not be above degradedBelowDays");
    }
  },
  lintPlaceholders: () => {},
  toCheck(row) {
    const { kind, host, port, servername = host, starttls } = row;
    const { degradedBelowDays, failedBelowDays } = row;
    const started = starttls && { starttls };
    return { kind, host, port, servername, ...started, degradedBelowDays, failedBelowDays };
  },
  describe(check) {
    const { host, servername, starttls, degradedBelowDays, failedBelowDays } = check;
    const details = [
      ...(servername === host ? [] : [{ name: "Name", value: servername }]),
      ...(starttls === undefined ? [] : [{ name: "STARTTLS", value: starttls }]),
      { name: "Degraded below", value: `${degradedBelowDays} days left` },
      { name: "Failed below", value: `${failedBelowDays} days left` },
    ];
    return { method: "TLS", path: withPort(check), details };
  },
  build: () => {},
  hostsOf: ({ host }) => [host],
  probe: probeTls,
  grade: (check, { tlsDaysLeft, tlsIssuer }) => gradeDays(check, tlsDaysLeft, tlsIssuer),
  hosted: null,
});

/** Never throws. `ca`: certificates to trust instead of those of the system (PEM). */
export function probeTls(
  { host, port, servername, starttls }: Pick<TlsCheck, "host" | "port" | "servername" | "starttls">,
  { ca, ...limits }: TimeLimit & { ca?: string },
) {
  return observe(limits, async (attempt) => {
    const opening = { ...attempt, ...(ca !== undefined && { ca }) };
    const secured = { servername, starttls };
    const socket = await openTlsConnection({ hostname: host, port }, secured, opening);
    socket.destroy();
    return { kind: "certificate" as const };
  });
}

/** null: all certificates last long enough. `days`: of the first to end, null: that cannot be read; `issuer`: whose it is. */
export function gradeDays(
  { degradedBelowDays, failedBelowDays }: Pick<TlsCheck, "degradedBelowDays" | "failedBelowDays">,
  days: number | null,
  issuer: string | null = null,
): Wrong | null {
  const fault = (grade: Wrong["grade"], reason: string): Wrong => ({
    ...{ grade, cause: "assertion", reason },
  });
  if (days === null) return fault("failed", "the end of the certificate cannot be read");
  const whose = issuer === null ? "" : ` of the issuer ${issuer}`;
  const ends = `the certificate${whose} ends in ${days} days`;
  if (days < failedBelowDays) return fault("failed", `${ends}, failed below ${failedBelowDays}`);
  return days < degradedBelowDays
    ? fault("degraded", `${ends}, degraded below ${degradedBelowDays}`)
    : null;
}
