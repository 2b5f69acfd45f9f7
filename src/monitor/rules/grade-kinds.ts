/** What is wrong with the answers of TCP and DNS servers, and with the days of a certificate. Pure. */
import { someOf } from "#kernel/nearest.ts";
import type { Cause, Grade, RunnableOf } from "#monitor/contract.ts";
import type { RecordType } from "#monitor/kinds/contract.ts";
import { show } from "./assertions.ts";

/** null: the text has what is expected. */
export function faultOfText(
  { expect }: Pick<RunnableOf<"tcp">, "expect">,
  text: string,
): string | null {
  if (expect === null || text.includes(expect)) return null;
  const answered = text === "" ? "answered nothing" : `answered ${show(text)}`;
  return `${answered}, expected to contain ${show(expect)}`;
}

/** null: all that is expected is among the values. Each may be written in another way that means the same. */
export function faultOfRecords(
  { type, expect }: Pick<RunnableOf<"dns">, "type" | "expect">,
  values: readonly string[],
): string | null {
  const found = new Set(values.map((value) => normalize(type, value)));
  const missing = expect.find((value) => !found.has(normalize(type, value)));
  if (missing === undefined) return null;
  const shown = values.slice(0, shownValues).map(show);
  return `${type} is ${someOf(shown, shownValues, values.length)}, expected ${show(missing)} among them`;
}

/** Names have no case and may end with a dot; an address of IPv6 may have its zeros. */
function normalize(type: RecordType, value: string): string {
  if (type === "TXT") return value;
  const isAddress = type === "AAAA" && URL.canParse(`http://[${value}]`);
  return isAddress ? new URL(`http://[${value}]`).hostname : value.toLowerCase().replace(/\.$/, "");
}

const shownValues = 5;

type Days = Pick<RunnableOf<"tls">, "degradedBelowDays" | "failedBelowDays">;

/** null: all certificates last long enough. `days`: of the first to end, null: that cannot be read; `issuer`: whose it is. */
export function gradeDays(
  { degradedBelowDays, failedBelowDays }: Days,
  days: number | null,
  issuer: string | null = null,
): { grade: Grade; cause: Cause; reason: string } | null {
  if (days === null) return fault("failed", "the end of the certificate cannot be read");
  const whose = issuer === null ? "" : ` of the issuer ${issuer}`;
  const ends = `the certificate${whose} ends in ${days} days`;
  if (days < failedBelowDays) return fault("failed", `${ends}, failed below ${failedBelowDays}`);
  if (days < degradedBelowDays) {
    return fault("degraded", `${ends}, degraded below ${degradedBelowDays}`);
  }
  return null;
}

function fault(grade: Grade, reason: string) {
  return { grade, cause: "assertion" as const, reason };
}
