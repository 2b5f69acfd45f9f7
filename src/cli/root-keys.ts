import { withOperator } from "#app/operator.ts";
import type { DatabaseOptions } from "./options.ts";
import { print, printJson } from "./print.ts";

export type RootKeyOptions = DatabaseOptions & {
  workspace: string;
  name: string;
  permissions?: string[];
  expires?: Date;
};

/** Prints the key, once: on stdout alone, so that it can be piped to where it belongs. */
export async function makeRootKey(options: RootKeyOptions): Promise<number> {
  const { workspace, name, permissions = ["*"], expires } = options;
  const order = { workspaceId: workspace, name, permissions, expiresAt: expires };
  const { key, keyId } = await withOperator(options, (operator) => operator.createRootKey(order));
  if (options.json) {
    printJson({ key, key_id: keyId, workspace_id: workspace, permissions, expires_at: expires });
    return 0;
  }
  print(key);
  const until = expires === undefined ? "" : `, until ${expires.toISOString()}`;
  process.stderr.write(`${keyId} for ${workspace}${until}. It is not shown again.\n`);
  return 0;
}
