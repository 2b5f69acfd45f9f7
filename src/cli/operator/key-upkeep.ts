import { withOperator } from "#app/operator.ts";
import type { DatabaseOptions } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";

export type MigrationOptions = DatabaseOptions & {
  workspace: string;
  algorithm: "sha256" | "github.com/seamapi/prefixed-api-key";
};

export async function makeMigration(id: string, options: MigrationOptions): Promise<number> {
  const { workspace: workspaceId, algorithm } = options;
  const order = { id, workspaceId, algorithm };
  await withOperator(options, (operator) => operator.createMigration(order));
  return printAnswer({ id, workspace_id: workspaceId, algorithm }, options.json, () => id);
}

export async function resealAll(options: DatabaseOptions): Promise<number> {
  const { resealed, unopened } = await withOperator(options, (operator) => operator.resealKeys());
  printAnswer({ resealed, unopened }, options.json, () => `${resealed} keys sealed again`);
  if (unopened === 0) return 0;
  throw new Error(
    `${unopened} are unchanged, because no key of api.encryption_keys opens them: add the missing key ` +
      "after the others and run this again; if it is lost, they cannot be opened any more",
  );
}

export async function forgetEncryptionKeys(options: DatabaseOptions): Promise<number> {
  const forgotten = await withOperator(options, (operator) => operator.forgetEncryptionKeys());
  return printAnswer(
    { forgotten },
    options.json,
    () => `${forgotten} encryption keys forgotten: the settings of the next start apply`,
  );
}
