/** Numbers, spans of time and names as people read them, with the digits of the browser's locale. */
import { shortenImage } from "#kernel/image-reference.ts";
import { when } from "./times.ts";

const plain = new Intl.NumberFormat();
const withTenths = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

export function count(value: number): string {
  return plain.format(value);
}

export function sentinels(value: number): string {
  return `${count(value)} sentinel${value === 1 ? "" : "s"}`;
}

export function percent(part: number, total: number): string {
  return `${count(total === 0 ? 0 : Math.floor((part * 100) / total))} %`;
}

/** Rounds down, so that only 100 % is shown as 100. */
export function uptime(percentUp: number | null, digits: number): string {
  if (percentUp === null) return "not known yet";
  const scale = 10 ** digits;
  return `${count(Math.floor(percentUp * scale) / scale)} %`;
}

/** 42 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${count(s)} s`;
  if (s < 3_600) return pair(s, [60, "min"], [1, "s"]);
  if (s < 86_400) return pair(s, [3_600, "h"], [60, "min"]);
  return pair(s, [86_400, "d"], [3_600, "h"]);
}

function pair(s: number, [big, bigName]: [number, string], [small, smallName]: [number, string]) {
  const rest = Math.floor((s % big) / small);
  return `${count(Math.floor(s / big))} ${bigName}${rest === 0 ? "" : ` ${count(rest)} ${smallName}`}`;
}

export function ago(iso: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(iso)) / 1_000;
  return seconds < 2 ? "just now" : `${duration(seconds)} ago`;
}

/** "in 2 h 5 min", or "now" for what is due. */
export function inWords(iso: string, nowMs: number): string {
  const seconds = (Date.parse(iso) - nowMs) / 1_000;
  return seconds > 0 ? `in ${duration(seconds)}` : "now";
}

/** A mute without an end is stored as the last instant that a date can express. */
export function quietEnd(iso: string): string {
  return iso.startsWith("9999-") ? "unmuted" : when(iso);
}

export function ms(value: number): string {
  if (value < 10) return `${withTenths.format(value)} ms`;
  return value >= 10_000
    ? `${withTenths.format(value / 1_000)} s`
    : `${count(Math.round(value))} ms`;
}

export type ImageName = { place: string; name: string; version: string };

/** Splits off what differs between releases: `version` is the tag and the shortened digest, with the sign before them. */
export function splitImage(image: string): ImageName {
  const [, place = "", name = "", version = ""] =
    /^(.*\/)?([^:@]*)(.*)$/.exec(shortenImage(image)) ?? [];
  return { place, name, version: version || ":latest" };
}

export function shortImage(image: string): string {
  const { name, version } = splitImage(image);
  return `${name}${version}`;
}
