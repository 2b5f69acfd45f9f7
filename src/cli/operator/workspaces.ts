import { type OperatorSource, withOperator } from "#app/operator.ts";
import type { Count, DatabaseOptions } from "#cli/options.ts";
import { print, printAnswer, printJson, usageError } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";

export async function createWorkspace(name: string, options: DatabaseOptions): Promise<number> {
  const id = await withOperator(options, ({ workspaces }) => workspaces.create(name));
  return printAnswer({ id, name }, options.json, () => id);
}

export async function listWorkspaces(options: DatabaseOptions): Promise<number> {
  const workspaces = await withOperator(options, (operator) => operator.workspaces.list());
  if (options.json) {
    printJson({ workspaces });
    return 0;
  }
  const table = createTable(["workspace", "name", "state", "calls/min", "quota/month", "keys"]);
  for (const { id, name, enabled, requestsPerMinute, monthlyQuota, keys } of workspaces) {
    const state = enabled ? "enabled" : "disabled";
    table.push([id, plain(name), state, requestsPerMinute ?? "any", monthlyQuota ?? "none", keys]);
  }
  print(String(table));
  return 0;
}

export function enableWorkspace(id: string, options: DatabaseOptions): Promise<number> {
  return change(options, id, { enabled: true });
}

export function disableWorkspace(id: string, options: DatabaseOptions): Promise<number> {
  return change(options, id, { enabled: false });
}

export function setLimit(
  id: string,
  options: DatabaseOptions & { perMinute: Count },
): Promise<number> {
  return change(options, id, { requestsPerMinute: options.perMinute.count });
}

export function setQuota(
  id: string,
  options: DatabaseOptions & { perMonth: Count },
): Promise<number> {
  return change(options, id, { monthlyQuota: options.perMonth.count });
}

type WorkspaceChange = Parameters<Parameters<typeof withOperator>[1]>[0]["workspaces"]["change"];

async function change(
  source: OperatorSource & { json: boolean },
  id: string,
  to: Parameters<WorkspaceChange>[1],
): Promise<number> {
  await withOperator(source, ({ workspaces }) => workspaces.change(id, to));
  if (source.json) printJson({ id, ...to });
  else print(`${id} changed`);
  return 0;
}

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
