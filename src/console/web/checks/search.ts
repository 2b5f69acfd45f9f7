/** Reads what the list of checks is refined by, as the address has it. Pure. */
import type { CheckView } from "#monitor/results/contract.ts";
import { checkTones } from "./tone.ts";

export const pageSize = 50;
/** Of each kind: a browser draws no more in good time. */
export const mostShown = 400;

type Search = { search?: string; status?: CheckView["status"]; limit: number };

/** Leaves out what no page writes: an address may come from anywhere. */
export function searchOf(query: Readonly<URLSearchParams>): Search {
  const search = (query.get("search") ?? "").slice(0, 200);
  const status = query.get("status") ?? "";
  const limit = Number(query.get("limit") ?? pageSize);
  const isLimit = Number.isInteger(limit) && limit >= 1 && limit <= mostShown;
  return {
    ...(search !== "" && { search }),
    ...(isStatus(status) && { status }),
    limit: isLimit ? limit : pageSize,
  };
}

function isStatus(text: string): text is CheckView["status"] {
  return Object.hasOwn(checkTones, text);
}
