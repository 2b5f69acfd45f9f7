import { withOperator } from "#app/operator.ts";
import type { Count, DatabaseOptions } from "#cli/options.ts";
import { printAnswer, usageError } from "#cli/print.ts";

export type ApiOptions = DatabaseOptions & {
  ipAllowlist?: { addresses: string[] | null };
  deleteProtection?: boolean;
  recoverableKeys?: boolean;
  defaultPrefix?: string;
  defaultBytes?: Count;
};

export async function setApi(id: string, options: ApiOptions): Promise<number> {
  const { ipAllowlist, deleteProtection, recoverableKeys, defaultPrefix, defaultBytes } = options;
  const change = {
    ...(ipAllowlist !== undefined && { ipAllowlist: ipAllowlist.addresses }),
    ...(deleteProtection !== undefined && { deleteProtection }),
    ...(recoverableKeys !== undefined && { recoverableKeys }),
    ...(defaultPrefix !== undefined && {
      defaultPrefix: defaultPrefix === "none" ? null : defaultPrefix,
    }),
    ...(defaultBytes !== undefined && { defaultBytes: defaultBytes.count }),
  };
  if (Object.keys(change).length === 0) throw usageError("nothing to set: see --help");
  await withOperator(options, (operator) => operator.changeApi({ id, change }));
  return printAnswer({ id, ...change }, options.json, () => `${id} changed`);
}
