/** Compares `api.encryption_keys` of a database's processes by marks: one with other keys would seal what none can open. */
import type { ClientBase } from "pg";
import type { Database } from "#kernel/database.ts";
import { cleanText } from "#kernel/text.ts";

/** A key by its id, without the key itself. */
export type KeyMark = { id: string; mark: Buffer };

export type Verdict =
  /** The database has no marks yet. */
  | { state: "first" }
  | { state: "same" }
  /** They open what the stored ones seal, and replace them. `dropped`: stored keys that they are without. */
  | { state: "newer"; dropped: string[] }
  /** The stored ones open what they seal, as in the middle of a rotation. */
  | { state: "older" }
  | { state: "foreign"; id: string; why: keyof typeof faults };

const faults = {
  another: "is not the one of that name which the other processes of this database have",
  missing: "is missing, with which the other processes of this database seal",
  sealing:
    "is taken away, but still seals: put it behind the others, and run `npx vedette keys reseal`",
};

/** The first key of each list is the one that seals. */
export function compareMarks(own: readonly KeyMark[], kept: readonly KeyMark[]): Verdict {
  const [current] = own;
  const [keptCurrent] = kept;
  if (current === undefined || keptCurrent === undefined) return { state: "first" };
  const another = own.find(({ id, mark }) =>
    kept.some((one) => one.id === id && !one.mark.equals(mark)),
  );
  if (another !== undefined) return { state: "foreign", id: another.id, why: "another" };
  if (own.some(({ id }) => id === keptCurrent.id)) {
    const ids = (marks: readonly KeyMark[]) => JSON.stringify(marks.map(({ id }) => id));
    const dropped = kept.map(({ id }) => id).filter((id) => own.every((one) => one.id !== id));
    return ids(own) === ids(kept) ? { state: "same" } : { state: "newer", dropped };
  }
  if (kept.some(({ id }) => id === current.id)) return { state: "older" };
  return { state: "foreign", id: keptCurrent.id, why: "missing" };
}

/** Throws one line with what to do when the keys are neither the stored ones nor a rotation of them. */
export function refuseForeign(verdict: Verdict): void {
  if (verdict.state !== "foreign") return;
  const id = cleanText(verdict.id, 64);
  throw new Error(
    `api.encryption_keys: the key "${id}" ${faults[verdict.why]}: set the same keys at every process, when they change a new one before ` +
      "the earlier ones (where none are set it is encryption_key in credentials.json of the data_dir of " +
      "the process that made it); only when the earlier ones are lost for good, run " +
      "`npx vedette keys forget-encryption-keys` first",
  );
}

/** Compares without changing anything. A database before the migration that added marks has none. */
export async function compareRing(
  database: Database | ClientBase,
  marks: readonly KeyMark[],
): Promise<Verdict> {
  const { rows } = await database.query<{ there: boolean }>(
    "SELECT to_regclass('encryption_key_marks') IS NOT NULL AS there",
  );
  return rows[0]?.there === true
    ? compareMarks(marks, await readMarks(database))
    : { state: "first" };
}

/** Compares, and stores the marks if there are none yet or these are newer. */
export async function claimRing(
  transaction: ClientBase,
  marks: readonly KeyMark[],
): Promise<Verdict> {
  // Under a lock, so that only one of two concurrent processes is the first.
  await transaction.query("SELECT pg_advisory_xact_lock($1, 0)", [claimLock]);
  const verdict = compareMarks(marks, await readMarks(transaction));
  if (verdict.state === "first" || verdict.state === "newer") await storeMarks(transaction, marks);
  return verdict;
}

/** Must be called before something is sealed. Throws when no other process could open it. */
export async function requireOwnRing(
  transaction: ClientBase,
  marks: readonly KeyMark[],
): Promise<void> {
  const verdict = compareMarks(marks, await readMarks(transaction));
  // Under the lock also with an older key: whoever takes that away waits, and then sees what it has sealed.
  const isBound = verdict.state === "first" || verdict.state === "older";
  refuseForeign(isBound ? await claimRing(transaction, marks) : verdict);
}

/** The next start, or the next sealed key, stores new marks. Returns how many were deleted. */
export async function forgetRing(database: Pick<ClientBase, "query">): Promise<number> {
  const { rowCount } = await database.query("DELETE FROM encryption_key_marks");
  return rowCount ?? 0;
}

/** "vedk": differs from the locks of migrations and of processes. */
const claimLock = 0x7665646b;

async function readMarks(database: Database | ClientBase): Promise<KeyMark[]> {
  const { rows } = await database.query<KeyMark>(
    "SELECT id, mark FROM encryption_key_marks ORDER BY position",
  );
  return rows;
}

async function storeMarks(transaction: ClientBase, marks: readonly KeyMark[]): Promise<void> {
  await transaction.query("DELETE FROM encryption_key_marks");
  await transaction.query(
    `INSERT INTO encryption_key_marks (position, id, mark)
     SELECT ordinality, id, mark FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS t (id, mark)`,
    [marks.map(({ id }) => id), marks.map(({ mark }) => mark)],
  );
}
