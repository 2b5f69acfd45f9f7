/** What a check asks and expects, in words. Nothing of a header, a body or what is sent, which may be secret. */
import type { ApiCheck, CheckOf } from "#monitor/contract.ts";
import type { CheckKind, Step } from "#monitor/kinds/contract.ts";

type Description = {
  check_kind: CheckKind;
  method: string;
  path: string;
  details: { name: string; value: string }[];
};

export function describeCheck(check: ApiCheck): Description {
  switch (check.kind) {
    case "tcp": {
      const details = check.expect === null ? [] : [{ name: "Expects", value: check.expect }];
      return { check_kind: "tcp", method: "TCP", path: withPort(check), details };
    }
    case "dns":
      return describeDns(check);
    case "tls":
      return describeTls(check);
    case "steps":
      return describeSteps(check.steps);
    default:
      return { check_kind: "http", method: check.method, path: check.path, details: [] };
  }
}

/** An address of IPv6 has colons. */
function withPort({ host, port }: { host: string; port: number }): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function describeDns({ domain, type, servers, expect }: CheckOf<"dns">): Description {
  const details = [
    { name: "Expects", value: expect.join(", ") },
    { name: "Name servers", value: servers.join(", ") },
  ].filter(({ value }) => value !== "");
  return { check_kind: "dns", method: "DNS", path: `${type} ${domain}`, details };
}

function describeTls(check: CheckOf<"tls">): Description {
  const { host, servername, starttls, degradedBelowDays, failedBelowDays } = check;
  const details = [
    ...(servername === host ? [] : [{ name: "Name", value: servername }]),
    ...(starttls === undefined ? [] : [{ name: "STARTTLS", value: starttls }]),
    { name: "Degraded below", value: `${degradedBelowDays} days left` },
    { name: "Failed below", value: `${failedBelowDays} days left` },
  ];
  return { check_kind: "tls", method: "TLS", path: withPort(check), details };
}

function describeSteps(steps: readonly Step[]): Description {
  const details = steps.map(({ name, method, path }, index) => ({
    name: `Step ${index + 1}`,
    value: `${name === null ? "" : `${name}: `}${method} ${path}`,
  }));
  const path = steps.length === 1 ? "1 request" : `${steps.length} requests`;
  return { check_kind: "steps", method: "STEPS", path, details };
}
