/** Finds the member that needs a set's template as it is: the next pod made gets its image, whichever that is. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import { endMsOf, type MemberRecord, targetOf } from "./records.ts";
import { findBlocker, isMadeOf, livingPod, type SetReading, templateOf } from "./set-reading.ts";

export type Wish = {
  member: string;
  container: string;
  image: string;
  /** To put back what ran before, which does not wait for orders whose pods still serve. */
  isBack: boolean;
  nowMs: number;
  readyTimeoutMs: number;
};

/** The member that the template must not be taken from now; undefined: it has the image, or may be given it. */
export function findHolder(reading: SetReading, wish: Wish): string | undefined {
  const template = templateOf(reading, wish.container);
  if (isSameContent(template, wish.image)) return undefined;
  const others = Object.entries(reading.records?.members ?? {});
  return others.find(
    ([name, record]) => name !== wish.member && holds(reading, { name, record, template, wish }),
  )?.[0];
}

export function wordsOfHolder(holder: string): string {
  const code: ReasonCode = "conflict";
  return `${code}: ${holder} is being replaced by another image, and the template is one for all`;
}

type Candidate = { name: string; record: MemberRecord; template: string; wish: Wish };

function holds(reading: SetReading, { name, record, template, wish }: Candidate): boolean {
  const image = targetOf(record);
  if (record.ended === true || !isSameContent(template, image)) return false;
  if (isMadeOf(reading, name, { container: record.container, image })) return false;
  if (wish.nowMs >= endMsOf(record, wish.readyTimeoutMs)) return false;
  const isServing = livingPod(reading, name) !== undefined;
  // Two that put something back would take it from one another.
  if (wish.isBack && record.failed === undefined && isServing) return false;
  return isServing || findBlocker(reading, name) === undefined;
}
