/** What a row says of its kind, as the monitor takes it. */
import type { CheckRow } from "#definitions/rows/check.ts";
import type { CompleteStep } from "#definitions/rows/steps.ts";
import type { KindFields, Step } from "#monitor/kinds/contract.ts";

export function toKind(row: CheckRow): KindFields[keyof KindFields] {
  switch (row.kind) {
    case "tcp": {
      const { kind, host, port, send = null, expect = null } = row;
      return { kind, host, port, send, expect };
    }
    case "dns": {
      const { kind, domain, type, servers, expect } = row;
      return { kind, domain, type, servers, expect };
    }
    case "tls": {
      const { host, servername = host, starttls, ...same } = row;
      const { kind, port, degradedBelowDays, failedBelowDays } = same;
      const days = { degradedBelowDays, failedBelowDays };
      return { kind, host, port, servername, ...(starttls && { starttls }), ...days };
    }
    case "steps":
      return { kind: row.kind, steps: row.steps.map(toStep) };
    case "http": {
      const { kind, method, url, path, headers, body, assertions } = row;
      return { kind, method, path: url ?? path ?? "/", headers, body, assertions };
    }
  }
}

function toStep({ name, url, path, ...same }: CompleteStep): Step {
  return { ...same, name: name ?? null, path: url ?? path ?? "/" };
}
