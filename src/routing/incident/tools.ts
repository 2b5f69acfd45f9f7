/** The dependencies of an apply. */
import type { Content } from "#routing/incident/contract.ts";
import type { Service } from "./service.ts";
import type { Tools } from "./steps.ts";

export type ApplyTools = Tools & {
  service: Service;
  /** A route may be missing in lists for so long after its creation. */
  listLagMs: number;
  /** Records that a route is about to be created. */
  intend: (creation: { name: string; declared: Content }) => Promise<void>;
};
