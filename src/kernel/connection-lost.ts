/** Recognizes that a database cannot be reached, whatever it is asked. */

/**
 * True if a query failed because of its connection: SQLSTATE class 08, a server that stops or starts (57P0x), or an
 * error that is not the database's own, such as ECONNREFUSED or no answer in time.
 */
export function isConnectionLost(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code !== "string" || !sqlState.test(code) || /^(?:08|57P0)/.test(code);
}

/** No class of Postgres begins with E, as the codes of the system do: EPIPE. */
const sqlState = /^(?!E)[0-9A-Z]{5}$/;

/**
 * True if a caller should try again in a moment: Postgres cannot be reached, hangs or is overloaded (SQLSTATE
 * classes 08, 53, 57), or there was no connection at all.
 */
export function isUnavailable({ code, message }: Error & { code?: unknown }): boolean {
  return unavailable.test(String(code ?? "")) || /timeout|terminat/i.test(message);
}

const unavailable = /^(08|53|57)|^E[A-Z]+$/;
