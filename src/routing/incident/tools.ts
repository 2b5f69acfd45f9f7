/** What an apply works with. */
import type { Content } from "#routing/incident/contract.ts";
import type { Service } from "./service.ts";
import type { Tools } from "./steps.ts";

export type ApplyTools = Tools & {
  service: Service;
  /** How long a route may be there before lists show it. */
  listLagMs: number;
  /** Keeps that a route is about to be made. Absent: an older version has begun this apply without. */
  intend?: (creation: { name: string; declared: Content }) => Promise<void>;
};
