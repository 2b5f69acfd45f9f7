import { type Operator, withOperator } from "#app/operator.ts";
import type { DatabaseOptions } from "#cli/options.ts";
import { complain, print, printAnswer, printJson } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { formatUtc } from "#kernel/time.ts";

export type RootKeyOptions = DatabaseOptions & {
  workspace: string;
  name: string;
  permissions?: string[];
  expires?: Date;
};

/** Prints the key once, to stdout only, so that it can be piped. */
export async function makeRootKey(options: RootKeyOptions): Promise<number> {
  const { workspace, name, permissions = ["*"], expires } = options;
  const order = { workspaceId: workspace, name, permissions, expiresAt: expires };
  const { key, keyId } = await withOperator(options, (operator) => operator.rootKeys.create(order));
  if (options.json) {
    printJson({ key, key_id: keyId, workspace_id: workspace, permissions, expires_at: expires });
    return 0;
  }
  print(key);
  const until = expires === undefined ? "" : `, until ${formatUtc(expires)}`;
  complain(`${keyId} for ${workspace}${until}. It is not shown again.`);
  return 0;
}

export async function listRootKeys(options: DatabaseOptions & { all?: boolean }): Promise<number> {
  const isAll = options.all === true;
  const keys = await withOperator(options, ({ rootKeys }) => rootKeys.list({ isAll }));
  if (options.json) {
    printJson({
      root_keys: keys.map((key) => ({
        key_id: key.id,
        name: key.name,
        start: key.start,
        workspace_id: key.workspaceId,
        permissions: key.permissions,
        origin: key.origin ?? "operator",
        state: key.state,
        created_at: key.createdAt,
        last_used_at: key.lastUsedAt,
        expires_at: key.expiresAt,
      })),
    });
    return 0;
  }
  const table = createTable([
    ...["key", "name", "begins", "workspace", "may", "from", "state", "last used", "expires"],
  ]);
  for (const key of keys) {
    const { id, start, workspaceId, origin, state } = key;
    const may = key.permissions.length > 2 ? `${key.permissions.length}` : String(key.permissions);
    const times = [key.lastUsedAt, key.expiresAt].map((at) => formatUtc(at) || "never");
    const begins = `${plain(start)}…`;
    const from = origin ?? "operator";
    table.push([id, plain(key.name ?? ""), begins, workspaceId, may, from, state, ...times]);
  }
  print(String(table));
  return 0;
}

export async function revokeRootKey(id: string, options: DatabaseOptions): Promise<number> {
  await withOperator(options, ({ rootKeys }) => rootKeys.revoke(id));
  return printAnswer(
    { key_id: id, state: "revoked" },
    options.json,
    () => `${id} revoked: every process refuses it within a second`,
  );
}

export type RotateOptions = DatabaseOptions & { grace: number };

/** Prints the new key once, to stdout only. */
export async function rotateRootKey(id: string, options: RotateOptions): Promise<number> {
  await withOperator(options, async ({ rootKeys, storeRotated }) => {
    const rotated = await rootKeys.rotate({ id, graceSeconds: options.grace });
    let kept: string | undefined;
    try {
      kept = storeRotated(rotated);
    } finally {
      // Also when it cannot be saved: the key is stored nowhere else, and the old one ends.
      reportRotated(id, { rotated, options, kept });
    }
  });
  return 0;
}

type RootKeyRotation = Awaited<ReturnType<Operator["rootKeys"]["rotate"]>>;

type Report = { rotated: RootKeyRotation; options: RotateOptions; kept: string | undefined };

function reportRotated(id: string, { rotated, options, kept }: Report): void {
  const { key, keyId, oldEndsAt, origin } = rotated;
  if (options.json) {
    const old = { replaces: id, old_ends_at: oldEndsAt };
    printJson({ key, key_id: keyId, ...old, kept_as: kept ?? null });
    return;
  }
  print(key);
  const next =
    kept !== undefined
      ? `It is saved as ${kept} in credentials.json: restart the program.`
      : origin === "setting"
        ? "Set api.root_key to it at every process."
        : "It is not shown again.";
  const old = `${id} ends ${options.grace === 0 ? "now" : `at ${formatUtc(oldEndsAt)}`}`;
  complain(`${keyId}; ${old}. ${next}`);
}

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

export async function rotateProof(options: DatabaseOptions): Promise<number> {
  const id = await withOperator(options, ({ rotateProofKey }) => rotateProofKey());
  return printAnswer(
    { key_id: id },
    options.json,
    () => `${id} signs proofs from now on; the earlier keys stay published`,
  );
}
