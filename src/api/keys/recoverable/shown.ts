import type { MakeChange } from "#api/changes/change.ts";
import type { KeyResponse } from "#api/keys/schemas.ts";
import type { Call } from "#api/procedure.ts";

/**
 * Records in the audit log which keys are about to be shown in clear text. Throws when it cannot be
 * written: then they are not shown.
 */
export async function recordShown(
  change: MakeChange,
  call: Call,
  keys: readonly KeyResponse[],
): Promise<void> {
  const shown = keys.filter(({ plaintext }) => plaintext !== undefined);
  if (shown.length === 0) return;
  await change(call, async ({ record }) =>
    record({
      event: "key.decrypt",
      description: `Showed ${shown.length === 1 ? `key ${shown[0]?.keyId}` : `${shown.length} keys`} in clear text`,
      targets: shown.map(({ keyId, name }) => ({
        type: "key",
        id: keyId,
        ...(name !== undefined && { name }),
      })),
    }),
  );
}
