/** Copies the incident service's tokens into senders' files, tested before and after; a failure restores all files. */
import { readSecret, restoreSecret, writeSecret } from "./mounted-file.ts";

/** One sender of alert events, and the file from which it reads its token. */
export type Webhook = {
  /** The name of its row in `sources`. */
  source: string;
  file: string;
};

export type RotationParts = {
  /** The token that the incident service has now. */
  readToken: (webhook: Webhook) => Promise<string>;
  /** Sends an event that notifies nobody. Throws when it is not accepted. */
  sendTestEvent: (webhook: Webhook, token: string) => Promise<void>;
  /** Makes the senders read their files again. Its errors must not quote the secrets. */
  reload: (secrets: readonly string[]) => Promise<void>;
};

export type Rotation = { webhooks: (Webhook & { outcome: "replaced" | "unchanged" })[] };

/** Nothing was changed, or everything was restored, or `message` says what was not. */
class RotationError extends Error {}

/** Rotates the tokens. It can be run again after a crash: files that have the new token already are not touched. */
export async function rotate(
  webhooks: readonly Webhook[],
  parts: RotationParts,
): Promise<Rotation> {
  const changes = await prepare(webhooks, parts);
  const secrets = changes.flatMap(({ token, previous }) => [token, previous ?? ""]);
  const reload = () => parts.reload(secrets.filter((secret) => secret !== ""));
  const written: TokenReplacement[] = [];
  try {
    for (const change of changes) {
      writeToken(change, written);
    }
    await reload();
    for (const { webhook } of changes) {
      // From the file, as the sender reads it.
      await parts.sendTestEvent(webhook, readSecret(webhook.file) ?? "");
    }
  } catch (cause) {
    throw await putBack(written, { cause, reload });
  }
  const outcomeOf = ({ token, previous }: TokenReplacement) =>
    token === previous ? ("unchanged" as const) : ("replaced" as const);
  return { webhooks: changes.map((change) => ({ ...change.webhook, outcome: outcomeOf(change) })) };
}

/** Writes also an unchanged token: its file may be readable by others. */
function writeToken(change: TokenReplacement, written: TokenReplacement[]): void {
  const { webhook, token, previous } = change;
  try {
    writeSecret(webhook.file, token);
  } catch (error) {
    // It may have failed after the rename, with the new token in place.
    if (token !== previous && readSecret(webhook.file) === token) written.push(change);
    throw error;
  }
  written.push(change);
}

type TokenReplacement = { webhook: Webhook; token: string; previous: string | null };

/** Reads and tests all tokens before any file is changed. */
async function prepare(
  webhooks: readonly Webhook[],
  parts: RotationParts,
): Promise<TokenReplacement[]> {
  const changes: TokenReplacement[] = [];
  for (const webhook of webhooks) {
    try {
      const previous = readSecret(webhook.file);
      const token = checkToken(await parts.readToken(webhook));
      await parts.sendTestEvent(webhook, token);
      changes.push({ webhook, token, previous });
    } catch (cause) {
      const message = `${webhook.source}: ${messageOf(cause)}; nothing was changed`;
      throw new RotationError(message, { cause });
    }
  }
  return changes;
}

/** Refuses characters that are invalid in an HTTP header or on one line of a file. */
function checkToken(token: string): string {
  if (/^[\x21-\x7e]{1,4096}$/.test(token)) return token;
  throw new Error("the incident service sent a token with characters that no header allows");
}

async function putBack(
  written: readonly TokenReplacement[],
  { cause, reload }: { cause: unknown; reload: () => Promise<void> },
): Promise<RotationError> {
  if (written.length === 0) {
    return new RotationError(`${messageOf(cause)}; nothing was changed`, { cause });
  }
  const failures: string[] = [];
  for (const change of written) {
    try {
      restoreSecret(change.webhook.file, change.previous);
    } catch (error) {
      if (!isInPlace(change)) failures.push(messageOf(error));
    }
  }
  await reload().catch((error) => failures.push(messageOf(error)));
  const state =
    failures.length === 0
      ? "the old tokens are back in place"
      : `and not everything could be put back: ${failures.join("; ")}`;
  return new RotationError(`${messageOf(cause)}; ${state}`, { cause });
}

/** True if the file has the old token again, although restoring it failed after the rename. */
function isInPlace({ webhook, previous }: TokenReplacement): boolean {
  try {
    return readSecret(webhook.file) === previous;
  } catch {
    return false;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
