/** Says of an error of Postgres which setting is wrong and what to do. Never quotes the address or its password. */

/** `setting`: the name of the setting that has the address, `database.url`. */
type Address = { setting: string; url: string };

/** An error in these words, with the given one as its cause; the same error when it is of another kind. */
export function explainDatabaseFault(error: unknown, address: Address): unknown {
  if (!(error instanceof Error)) return error;
  const words = describe(firstOf(error), placeOf(address.url));
  return words === undefined ? error : new Error(`${address.setting}: ${words}`, { cause: error });
}

/** Runs `work`, whose errors of Postgres name the setting. An empty one stands for the embedded server, and changes nothing. */
export async function namingSetting<Result>(
  { setting, url }: Address,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw url === "" ? error : explainDatabaseFault(error, { setting, url });
  }
}

type Fault = Error & { code?: string };
type Place = { server: string; host: string; user: string; database: string };

/** A name with several addresses fails with the errors of all of them. */
function firstOf(error: Error): Fault {
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first : error;
}

function describe({ code = "", message }: Fault, at: Place): string | undefined {
  return byCode[code]?.(at) ?? bySentence.find(([sentence]) => sentence.test(message))?.[1](at);
}

type Words = (at: Place) => string;

const refused: Words = ({ server }) =>
  `nothing listens at ${server} (ECONNREFUSED: connection refused): start Postgres there, or correct host and port`;
const noHost: Words = ({ host }) =>
  `there is no host ${host} (its name cannot be resolved): correct it, or the resolver of this machine`;
const silent: Words = ({ server }) =>
  `${server} does not answer: is a firewall in between, or the address wrong?`;
const wrongPassword: Words = ({ user }) =>
  `Postgres refused the password of user ${user}: correct it (a character such as @ or / is written %40 or %2F)`;
const noDatabase: Words = ({ database }) =>
  `there is no database ${database} on that server: create it, as by \`createdb ${database}\`, or correct the name`;
const notTrusted: Words = ({ host }) =>
  `the certificate of ${host} is not trusted: name its authority by NODE_EXTRA_CA_CERTS or ?sslrootcert=, and the host as the certificate has it`;
const tooMany: Words = () =>
  "the server has no connection left (too many clients): raise its max_connections, or put a pooler in front";
const readOnly: Words = () => "that server is read-only, as a replica is: name the primary one";
const noRights: Words = ({ user, database }) =>
  `user ${user} lacks rights in database ${database}: make it the owner, as by \`ALTER DATABASE ${database} OWNER TO ${user}\`, or grant CREATE on its schema public`;
const starting: Words = () => "the server is starting or stopping: try again in a moment";

const byCode: Readonly<Record<string, Words>> = {
  ECONNREFUSED: refused,
  ENOENT: ({ server }) =>
    `there is no socket of Postgres at ${server}: start it, or correct the path`,
  ENOTFOUND: noHost,
  EAI_AGAIN: noHost,
  ETIMEDOUT: silent,
  EHOSTUNREACH: silent,
  ENETUNREACH: silent,
  "28P01": wrongPassword,
  "3D000": noDatabase,
  "53300": tooMany,
  "25006": readOnly,
  "42501": noRights,
  "57P03": starting,
  SELF_SIGNED_CERT_IN_CHAIN: notTrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: notTrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: notTrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: notTrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: notTrusted,
  CERT_HAS_EXPIRED: ({ host }) => `the certificate of ${host} has expired: renew it`,
};

/** Errors without a code of their own: of the driver, of poolers, and those that share one. */
const bySentence: readonly [RegExp, Words][] = [
  [
    /does not support SSL/i,
    () => "the server takes no TLS: remove sslmode from the address, or turn TLS on there",
  ],
  [
    /no encryption|SSL (?:off|required)|requires? (?:SSL|TLS)/i,
    () => "the server takes only TLS: add ?sslmode=require to the address",
  ],
  [
    /client password must be a (?:non-empty )?string|password (?:is )?missing|no password/i,
    ({ user }) => `Postgres asks for a password of user ${user}, and the address has none`,
  ],
  [/password authentication failed|SASL authentication failed/i, wrongPassword],
  [
    /role ".*" does not exist|no such user/i,
    ({ user }) => `there is no user ${user} on that server: create it, or correct the name`,
  ],
  [
    /no pg_hba\.conf entry/i,
    ({ user, database }) =>
      `the server's pg_hba.conf does not let user ${user} into database ${database} from this machine: add a line for it`,
  ],
  [/no such database/i, noDatabase],
  // Of what migrates, which drops the code.
  [/permission denied for/i, noRights],
  [/in a read-only transaction/i, readOnly],
  [/too many (?:clients|connections)|no more connections allowed/i, tooMany],
  [/timeout expired|connection timeout|timeout exceeded/i, silent],
  [
    /Connection terminated|ECONNRESET/i,
    ({ server }) => `${server} closed the connection: is Postgres what listens there?`,
  ],
];

/** Without the password, from an address that was read already. */
function placeOf(url: string): Place {
  const { hostname, port, username, pathname, searchParams } = new URL(url);
  const user = decode(username || (searchParams.get("user") ?? "")) || "of this system";
  const host = decode(searchParams.get("host") ?? hostname) || "localhost";
  const database = decode(pathname.slice(1)) || user;
  return {
    server: `${host}:${searchParams.get("port") ?? (port || "5432")}`,
    host,
    user,
    database,
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
