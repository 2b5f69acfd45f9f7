/** Checks of TCP, DNS and TLS as modules of blackbox-exporter, as far as it can do what they do. */
import type { ApiCheck, Definitions, RunnableOf } from "#monitor/contract.ts";
import { withPort } from "#monitor/results/describe-check.ts";

type ProbeSetup = {
  /** What the exporter is given as target. */
  target: string;
  /** The prober and its settings. */
  module: Record<string, unknown>;
};

/** One line per check that the exporter cannot run, each beginning with its id; empty: it can run all. */
export function findUnprobed({ apiChecks }: Pick<Definitions, "apiChecks">): string[] {
  return apiChecks.flatMap((check) => {
    const why = whyNotProbed(check);
    return why === null ? [] : [`${check.id}: ${why}`];
  });
}

/** Why the exporter cannot run the check; null: it can. */
export function whyNotProbed(check: ApiCheck): string | null {
  switch (check.kind) {
    case "steps":
      return "the exporter makes one request";
    case "tcp":
      return whyNotTcp(check);
    case "dns":
      return whyNotDns(check);
    case "tls":
      return check.starttls === undefined ? null : "the exporter would start TLS at once";
    default:
      return null;
  }
}

function whyNotTcp({ send, expect }: RunnableOf<"tcp">): string | null {
  if (send !== null && !/[^\n]\n$/.test(send)) {
    return "the exporter ends what it sends with a line end";
  }
  return expect?.includes("\n") ? "the exporter looks at single lines of the answer" : null;
}

function whyNotDns({ servers, expect, type }: RunnableOf<"dns">): string | null {
  if (servers.length !== 1) return "the exporter asks one name server, which `servers` has to name";
  if (expect.length > 1) return "the exporter looks for one value";
  const [value = ""] = expect;
  const isPlain = type !== "TXT" || /^[ -~]{0,255}$/.test(value);
  return isPlain ? null : "the exporter compares only texts of ASCII up to 255 characters";
}

/** null: the check is one of HTTP, or cannot be exported. */
export function writeOther(check: ApiCheck, name: (text: string) => string): ProbeSetup | null {
  if (whyNotProbed(check) !== null) return null;
  switch (check.kind) {
    case "tcp":
      return { target: withPort(check), module: writeTcp(check, name) };
    case "dns":
      return { target: check.servers[0] ?? "", module: writeDns(check) };
    case "tls":
      return { target: withPort(check), module: writeTls(check) };
    default:
      return null;
  }
}

const preferences = { preferred_ip_protocol: "ip4", ip_protocol_fallback: true };

function writeTcp({ send, expect }: RunnableOf<"tcp">, name: (text: string) => string) {
  const dialog = [
    // The exporter adds the line end.
    ...(send === null ? [] : [{ send: name(send.replace(/\n$/, "")) }]),
    ...(expect === null ? [] : [{ expect: literally(expect) }]),
  ];
  return {
    prober: "tcp",
    tcp: { ...preferences, ...(dialog.length > 0 && { query_response: dialog }) },
  };
}

function writeTls({ servername }: RunnableOf<"tls">) {
  const tls_config = { insecure_skip_verify: false, server_name: servername };
  return { prober: "tcp", tcp: { ...preferences, tls: true, tls_config } };
}

function writeDns({ domain, type, expect }: RunnableOf<"dns">) {
  return {
    prober: "dns",
    dns: {
      ...preferences,
      transport_protocol: "udp",
      query_name: domain,
      query_type: type,
      valid_rcodes: ["NOERROR"],
      // An answer without such a record is good for the exporter otherwise.
      validate_answer_rrs: { fail_if_none_matches_regexp: [toRecordPattern(type, expect[0])] },
    },
  };
}

/** The exporter looks at records as zone files have them, with the name, the time and the class before. */
function toRecordPattern(type: string, value: string | undefined): string {
  if (value === undefined) return `\\s${type}\\s`;
  if (type === "TXT") {
    return `\\sTXT\\s+${literally(`"${value.replace(/["\\]/g, "\\$&")}"`)}$`;
  }
  return `(?i)\\s${type}\\s+${literally(value.replace(/\.$/, ""))}\\.?$`;
}

/** A pattern for the text as it is. */
export function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
