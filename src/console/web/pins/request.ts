/** Makes the pin from the fields of the form. Pure. */
import { toInstant } from "#console/web/local-time.ts";
import { faultOfLabels, toLabels, toList } from "#console/web/parts/lists.ts";
import type { Pin } from "#rollout/choice/contract.ts";

/** By the names of the request. */
export type PinFields = {
  id: string;
  ids: string;
  regions: string;
  labels: string;
  ends: string;
  reason: string;
};

/** Each field with its path in the request. */
export const pinPaths: Record<keyof PinFields, string> = {
  id: "id",
  ids: "ids",
  regions: "regions",
  labels: "labels",
  ends: "ends",
  reason: "reason",
};

/** Leaves out empty fields. Throws a refusal for labels that can't be read, which the server would not see. */
export function toPin(fields: PinFields): Pin {
  const fault = faultOfLabels(fields.labels);
  if (fault !== undefined) throw new Error(`${pinPaths.labels}: ${fault}`);
  const ids = toList(fields.ids);
  const regions = toList(fields.regions);
  const labels = toLabels(fields.labels);
  const ends = toInstant(fields.ends);
  return {
    id: fields.id.trim(),
    ...(ids !== undefined && { ids }),
    ...(regions !== undefined && { regions }),
    ...(labels !== undefined && { labels }),
    ...(ends !== undefined && { ends }),
    reason: fields.reason.trim(),
  };
}
