/** Recognizes errors of Postgres, and says what to do about them. */
import pg from "pg";

// Says of an error of Postgres which setting is wrong, and what to do. Never quotes the password.

/** `setting`: the name of the one that has the address. Empty `url`: it is the embedded server, which has none. */
type Address = { setting: string; url: string };

/** Runs `work`, whose errors of Postgres then name the setting; those of another kind stay as they are. */
export async function namingSetting<Result>(
  { setting, url }: Address,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const words = url === "" ? undefined : describe(cause, url);
    throw words === undefined ? cause : new Error(`${setting}: ${words}`, { cause });
  }
}

function describe(error: unknown, url: string): string | undefined {
  // A host with several addresses fails with the errors of all of them.
  const [first = error] = error instanceof AggregateError ? error.errors : [];
  const { code = "", message = "" } = first as { code?: string; message?: string };
  const said = `${code} ${message}`;
  const found = Object.entries(faults).find(([pattern]) => new RegExp(pattern, "i").test(said));
  const place = placeOf(url);
  return found?.[1].replace(/\{(\w+)\}/g, (_, name: string) => place[name] ?? "");
}

/** Faults by code and message; poolers and migration programs have no code of their own. The first that fits counts. */
const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "nothing listens at {server} (ECONNREFUSED): start Postgres there, or correct host and port",
  "ENOTFOUND|EAI_AGAIN": "there is no host {host}: correct it, or the resolver of this machine",
  "ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timeout (?:expired|exceeded)|connection timeout":
    "{server} does not answer: correct the address, or let a firewall in between pass it",
  "does not support SSL": "the server takes no TLS: remove sslmode, or turn TLS on there",
  "no encryption|SSL off|SSL required|requires? (?:SSL|TLS)":
    "the server takes only TLS: add ?sslmode=require to the address",
  "SELF_SIGNED|UNABLE_TO_|ALTNAME_INVALID|CERT_HAS_EXPIRED":
    "the certificate of {host} is expired, of another host, or not trusted: name its authority by ?sslrootcert=",
  "28P01|password authentication failed|SASL authentication failed":
    "Postgres refused the password of user {user}: correct it (@ is written %40, / is written %2F)",
  "client password must be|no password": "the address has no password of user {user}: add it",
  'role ".*" does not exist|no such user':
    "there is no user {user} on that server: create it, or correct the name",
  "no pg_hba":
    "pg_hba.conf does not let user {user} into database {database} from here: add a line there",
  "3D000|no such database":
    "there is no database {database} on that server: create it (createdb {database}), or correct the name",
  "53300|too many (?:clients|connections)|no more connections":
    "the server has no connection left: raise its max_connections, or put a pooler in front",
  "25006|in a read-only transaction":
    "that server is read-only, as a replica is: name the primary one",
  "42501|permission denied for":
    "user {user} lacks rights in database {database}: make it the owner, or grant CREATE on its schema",
  "57P03": "the server is starting or stopping: try again in a moment",
};

/** Reads the address as the driver does. */
function placeOf(url: string): Record<string, string | undefined> {
  const { host, port, user, database } = new pg.Client(url);
  return { host, user, database, server: `${host}:${port}` };
}

/** True if the connection was at fault: SQLSTATE 08, a stop or start (57P0x), or an error that is not Postgres'. */
export function isConnectionLost(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code !== "string" || !sqlState.test(code) || /^(?:08|57P0)/.test(code);
}

/** No class of Postgres begins with E, as the codes of the system do: EPIPE. */
const sqlState = /^(?!E)[0-9A-Z]{5}$/;

/** Why the data can never be written; null: it was written. Throws errors that may be temporary. */
export async function whyUnwritable(write: () => Promise<unknown>): Promise<string | null> {
  try {
    await write();
    return null;
  } catch (error) {
    if (!isOfData(error)) throw error;
    const { code, message } = error as Error & { code?: string };
    return code ?? message;
  }
}

/** True if retries are useless: SQLSTATE classes 22 (value), 23 (constraint), 54 (too large), or an invalid time. */
export function isOfData(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return (typeof code === "string" && unwritable.test(code)) || error instanceof RangeError;
}

const unwritable = /^(?:22|23|54)[0-9A-Z]{3}$/;
