import { InvalidArgumentError } from "commander";
import type { z } from "zod";
import { ConfirmListRequest, FleetName, type Labels } from "#fleet/contract.ts";
import { baseUrl, findUrlFault, isNetwork } from "#kernel/address.ts";
import { wordsOf } from "#kernel/faults.ts";
import { Role } from "#kernel/roles.ts";
import { readPairs } from "#kernel/text.ts";
import { parseDuration } from "#kernel/time.ts";
import { ApproveRequest } from "#rollout/calls-contract.ts";
import { LabelSelector } from "#rollout/choice/contract.ts";
import { WavePercentages } from "#rollout/contract.ts";
import { CheckGate } from "#rollout/gates/contract.ts";
import { NotBefore, SoakSeconds, WatchFor } from "#rollout/policy-contract.ts";
import { instant, Limit, Reason } from "#rollout/values-contract.ts";
import type { TargetOptions } from "./target.ts";

export type GlobalOptions = TargetOptions & { json: boolean; fleet?: string };

/** The field of a request that names the fleet. */
export function ofFleet({ fleet }: Pick<GlobalOptions, "fleet">): { fleet?: string } {
  return fleet === undefined ? {} : { fleet };
}

export type DatabaseOptions = { config?: string; dataDir?: string; json: boolean };

/** An address to which paths are added, without a slash at the end. */
export function parseUrl(text: string): string {
  const fault = findUrlFault(text, baseUrl("https://api.example.com"));
  if (fault !== undefined) throw new InvalidArgumentError(`it ${fault}.`);
  return text.replace(/\/+$/, "");
}

/** `25,100` as percentages. This parser and the next ones refuse the values that the service would refuse. */
export function parseWaves(text: string): number[] {
  return parseBy(WavePercentages, text.split(",").map(numberIn), "For example: 5,25,100");
}

export function parseGateChecks(text: string): string[] {
  const ids = text.split(",").map((id) => id.trim());
  return parseBy(CheckGate.shape.checks, ids, "For example: liveness,rate-limit");
}

export function parseGateRuns(text: string): number {
  return parseBy(CheckGate.shape.clean_runs, numberIn(text), "For example: 3");
}

export function parseGateTimeout(text: string): number {
  return parseBy(
    CheckGate.shape.timeout_seconds,
    secondsIn(text),
    "In seconds, or as 10m; 24h at most",
  );
}

/** `3` or `2%`. */
export function parseFailureLimit(text: string): Limit {
  return parseBy(Limit, /^\d+$/.test(text) ? Number(text) : text, "For example: 3, or 2%");
}

/** `10m`, or one for each wave: `1h,10m,0`. */
export function parseSoak(text: string): number | number[] {
  const seconds = text.split(",").map(secondsIn);
  const [first, ...rest] = seconds;
  const example = "In seconds, or with a unit: 10m, or one for each wave: 1h,10m,0; 7d at most";
  return parseBy(SoakSeconds, rest.length === 0 ? first : seconds, example);
}

export function parseWatch(text: string): number {
  return parseBy(WatchFor, secondsIn(text), "In seconds, or with a unit: 1h; 1d at most");
}

export function parseNotBefore(text: string): string {
  return parseBy(NotBefore, text, "It has an offset, or Z for UTC");
}

export function parseInstant(text: string): string {
  return parseBy(instant("2026-12-20T00:00:00Z"), text, "It has an offset, or Z for UTC");
}

/** `a,b` as a list. */
export function parseList(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.every((name) => name !== "")) return names;
  throw new InvalidArgumentError("must be a list such as a,b.");
}

/** `tier=canary,kernel=5`. */
export function parseLabels(text: string): Labels {
  return parseBy(LabelSelector, readPairs(text), "For example: tier=canary");
}

export function parseFleet(text: string): string {
  return parseBy(FleetName, text, "For example: production");
}

export function parseReason(text: string): string {
  return parseBy(Reason, text, 'For example: "incident 4711"');
}

/** The seconds of `10m`, or of a number alone. */
function secondsIn(text: string): number | string {
  const ms = parseDuration(text);
  return ms === undefined ? numberIn(text) : ms / 1_000;
}

/** A number, else the text, with which the fault can say what was given; `Number("")` would be 0. */
function numberIn(text: string): number | string {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isNaN(number) ? text : number;
}

function parseBy<Value>(schema: z.ZodType<Value>, given: unknown, example: string): Value {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [fault] = result.error.issues;
  // The name of a pair, `tier=canary`; of a list the fault itself says which item.
  const name = fault?.path.find((step) => typeof step === "string");
  const where = name === undefined ? "" : `${name}: `;
  throw new InvalidArgumentError(`${where}${fault && wordsOf(fault)}. ${example}`);
}

export function parseSentinelCount(text: string): number {
  // An empty text, as of a variable that is not set, must not confirm an empty fleet, nor may 1e3 be a number.
  const count = /^\d+$/.test(text) ? Number(text) : text;
  return parseBy(ConfirmListRequest.shape.count, count, "For example: 3");
}

export function parseRoles(text: string): Role[] {
  const names = new Set(text.split(",").map((name) => name.trim()));
  return parseBy(Role.array().min(1), [...names], "For example: read,approve");
}

export function parseWave(text: string): number {
  const wave = ApproveRequest.shape.wave.unwrap();
  return parseBy(wave, numberIn(text), "For example: 2");
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}.`);
  };
}

/** `count` is null for "none". */
export type Count = { count: number | null };

export function parseCount(text: string): Count {
  if (text === "none") return { count: null };
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return { count };
  throw new InvalidArgumentError("expected a whole number, or none.");
}

/** A date (`2027-01-31`, with or without a time) or a span from now (`90d`, `12h`). */
export function parseExpiry(text: string): Date {
  const span = parseDuration(text);
  const at = span === undefined ? parseIso(text) : Date.now() + span;
  if (at > Date.now() && at < 8.64e15) return new Date(at);
  throw new InvalidArgumentError(
    "expected a time in the future, such as 2027-01-31, or a span such as 90d.",
  );
}

/** A span such as `24h` or `7d`, in seconds; at most a year. */
export function parseGrace(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms <= 366 * 86_400_000) return Math.ceil(ms / 1_000);
  throw new InvalidArgumentError("expected a span of a year at most, such as 30m, 24h or 7d.");
}

/** A date (`2027-01-31`, with or without a time) or a span back from now (`7d`). */
export function parsePast(text: string): Date {
  const span = parseDuration(text);
  const at = span === undefined ? parseIso(text) : Date.now() - span;
  if (Number.isFinite(at) && at > 0) return new Date(at);
  throw new InvalidArgumentError(
    "expected a time such as 2027-01-31, or a span back from now such as 7d.",
  );
}

/** The cursor of a line of an export, or a time as `parsePast` has it. */
export function parseSince(text: string): number | Date {
  return /^\d{1,15}$/.test(text) ? Number(text) : parsePast(text);
}

/** The end of the audit log as `audit verify` prints it. */
export function parseHead(text: string): { cursor: number; hash: string } {
  const [, cursor, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (cursor !== undefined && hash !== undefined) return { cursor: Number(cursor), hash };
  throw new InvalidArgumentError('expected what "audit verify" has printed: <cursor>:<hash>.');
}

/** A port to listen on; it has to be known at the provider, so none is 0. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError("expected a port, for example 8250.");
}

function parseIso(text: string): number {
  return /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
}

/** Permissions as root keys store them: plain names, URNs, or `*` for all. */
export function parsePermissions(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.every((name) => /^[\w.*:#/-]{1,256}$/.test(name))) return [...new Set(names)];
  throw new InvalidArgumentError("expected names separated by commas, such as api.*.create_key.");
}

/** `on` or `off`. */
export function parseSwitch(text: string): boolean {
  if (text === "on" || text === "off") return text === "on";
  throw new InvalidArgumentError("expected on or off.");
}

/** Addresses and ranges separated by commas, or none. */
export function parseAddresses(text: string): { addresses: string[] | null } {
  if (text === "none") return { addresses: null };
  const addresses = text.split(",").map((entry) => entry.trim());
  if (addresses.every(isNetwork)) return { addresses };
  throw new InvalidArgumentError("expected addresses such as 203.0.113.7,10.0.0.0/8, or none.");
}

export function parseMs(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1) return ms;
  throw new InvalidArgumentError("expected a time such as 500ms or 2s.");
}
