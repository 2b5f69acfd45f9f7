/** Certificates, ACME accounts and challenges in Postgres, shared by all processes. */
import type { KeyRing } from "#api/keys/recoverable/key-ring.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";

/** PEM; the chain begins with the certificate itself. */
export type Certificate = {
  chain: string;
  privateKey: string;
  issuedMs: number;
  expiresMs: number;
};

export type CertificateStore = ReturnType<typeof createCertificateStore>;

export type CertificateStoreParts = { database: Database; keyRing: KeyRing; log: Log };

type SealedText = { sealed: Buffer; encryptionKeyId: string };

/** The name that is authenticated with a sealed private key, so that it opens in its own row only. */
export const certificateName = (names: string) => `certificate ${names}`;
export const accountName = (directoryUrl: string) => `account ${directoryUrl}`;

/** Much longer than an order takes. */
const challengeHours = 24;

export function createCertificateStore({ database, keyRing, log }: CertificateStoreParts) {
  /** A private key whose encryption key is no longer in the settings is treated as missing: a new one is created. */
  const open = (sealed: SealedText, of: string): string | undefined => {
    try {
      return keyRing.open(sealed, of);
    } catch (error) {
      log.warn({ detail: (error as Error).message, of }, "sealed private key does not open");
      return undefined;
    }
  };
  const parts = { database, keyRing, open };
  return { ...certificateTable(parts), ...accountTable(parts), ...challengeTable(database) };
}

type TableParts = Pick<CertificateStoreParts, "database" | "keyRing"> & {
  open: (sealed: SealedText, of: string) => string | undefined;
};

function certificateTable({ database, keyRing, open }: TableParts) {
  return {
    /** The certificate for exactly these names; undefined: there is none. */
    read: async (names: readonly string[]): Promise<Certificate | undefined> => {
      const key = nameOf(names);
      const { rows } = await database.query<
        SealedText & { chain: string; issued: Date; expires: Date }
      >(
        `SELECT chain, sealed, encryption_key_id AS "encryptionKeyId", issued_at AS issued,
           expires_at AS expires FROM certificates WHERE names = $1`,
        [key],
      );
      const [row] = rows;
      const privateKey = row === undefined ? undefined : open(row, certificateName(key));
      if (row === undefined || privateKey === undefined) return undefined;
      const { chain, issued, expires } = row;
      return { chain, privateKey, issuedMs: issued.getTime(), expiresMs: expires.getTime() };
    },
    write: async (names: readonly string[], certificate: Certificate): Promise<void> => {
      const key = nameOf(names);
      const { sealed, encryptionKeyId } = keyRing.seal(
        certificate.privateKey,
        certificateName(key),
      );
      const { chain, issuedMs, expiresMs } = certificate;
      await database.query(
        `INSERT INTO certificates (names, chain, sealed, encryption_key_id, issued_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (names) DO UPDATE SET chain = excluded.chain, sealed = excluded.sealed,
           encryption_key_id = excluded.encryption_key_id, issued_at = excluded.issued_at,
           expires_at = excluded.expires_at`,
        [key, chain, sealed, encryptionKeyId, new Date(issuedMs), new Date(expiresMs)],
      );
    },
    /** Deletes expired certificates, whose names are no longer served. */
    removeExpired: async (): Promise<void> => {
      await database.query("DELETE FROM certificates WHERE expires_at < now()");
    },
  };
}

function accountTable({ database, keyRing, open }: TableParts) {
  return {
    /** The private key, PEM, of our account at an authority; undefined: there is none. */
    readAccount: async (directoryUrl: string): Promise<string | undefined> => {
      const { rows } = await database.query<SealedText>(
        `SELECT sealed, encryption_key_id AS "encryptionKeyId" FROM acme_accounts
         WHERE directory_url = $1`,
        [directoryUrl],
      );
      return rows[0] === undefined ? undefined : open(rows[0], accountName(directoryUrl));
    },
    writeAccount: async (directoryUrl: string, privateKey: string): Promise<void> => {
      const { sealed, encryptionKeyId } = keyRing.seal(privateKey, accountName(directoryUrl));
      await database.query(
        `INSERT INTO acme_accounts (directory_url, sealed, encryption_key_id) VALUES ($1, $2, $3)
         ON CONFLICT (directory_url) DO UPDATE
           SET sealed = excluded.sealed, encryption_key_id = excluded.encryption_key_id`,
        [directoryUrl, sealed, encryptionKeyId],
      );
    },
  };
}

function challengeTable(database: Database) {
  return {
    /** The answer to a challenge's token; undefined: there is no such challenge. */
    readChallenge: async (token: string): Promise<string | undefined> => {
      const { rows } = await database.query<{ answer: string }>(
        "SELECT key_authorization AS answer FROM acme_challenges WHERE token = $1",
        [token],
      );
      return rows[0]?.answer;
    },
    addChallenge: async (token: string, answer: string): Promise<void> => {
      await database.query(
        "DELETE FROM acme_challenges WHERE created_at < now() - make_interval(hours => $1)",
        [challengeHours],
      );
      await database.query(
        `INSERT INTO acme_challenges (token, key_authorization) VALUES ($1, $2)
         ON CONFLICT (token) DO UPDATE SET key_authorization = excluded.key_authorization`,
        [token, answer],
      );
    },
    removeChallenge: async (token: string): Promise<void> => {
      await database.query("DELETE FROM acme_challenges WHERE token = $1", [token]);
    },
  };
}

function nameOf(names: readonly string[]): string {
  return names.toSorted().join(",");
}
