/** What the view of a check says of its kind. */
import { z } from "zod";
import { checkKinds } from "#monitor/kinds/contract.ts";

export const describedKind = {
  /** Of another kind than HTTP, `TCP` and the like. */
  method: z.string(),
  /** Of another kind than HTTP, `db.example.com:5432` and the like. */
  path: z.string(),
  check_kind: z.enum(checkKinds),
  /** What a good answer is, and each step. */
  details: z.array(z.object({ name: z.string(), value: z.string() })),
};
