/** The console's cookies: the session, a sign-in at the identity provider that has begun, and why one failed. */

type CookieOptions = { isSecure: boolean };

const sessionName = "vedette_session";
const signInName = "vedette_sign_in";
const noteName = "vedette_sign_in_note";

/** The session's part of a `Cookie` header; empty when there is none. */
export function readCookie(header: string | undefined): string {
  return read(header, sessionName);
}

/** Scripts cannot read it, and other sites cannot send it; an empty `value` deletes it. */
export function writeCookie(
  value: string,
  { isSecure, endsAtMs = 0 }: CookieOptions & { endsAtMs?: number },
): string {
  const seconds = value === "" ? 0 : Math.max(Math.floor((endsAtMs - Date.now()) / 1_000), 0);
  const base = `${sessionName}=${value}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=${seconds}`;
  return isSecure ? `${base}; Secure` : base;
}

/** Where the browser begins a sign-in at the provider, and where it comes back. */
export const signInCookiePath = "/console/api/sign-in";

export function readSignInCookie(header: string | undefined): string {
  return read(header, signInName);
}

/** Lax: the provider's page sends the browser back with it. For ten minutes; an empty `value` deletes it. */
export function writeSignInCookie(value: string, { isSecure }: CookieOptions): string {
  return writeLax(`${signInName}=${value}`, { isSecure, seconds: value === "" ? 0 : 600 });
}

export function readNoteCookie(header: string | undefined): string {
  return read(header, noteName);
}

/** How long the page may take to read why a sign-in failed. */
export const noteSeconds = 60;

/** Why a sign-in failed, until the page has read it; an empty `value` deletes it. */
export function writeNoteCookie(value: string, { isSecure }: CookieOptions): string {
  return writeLax(`${noteName}=${value}`, { isSecure, seconds: value === "" ? 0 : noteSeconds });
}

function writeLax(pair: string, { isSecure, seconds }: CookieOptions & { seconds: number }) {
  const base = `${pair}; Path=${signInCookiePath}; HttpOnly; SameSite=Lax; Max-Age=${seconds}`;
  return isSecure ? `${base}; Secure` : base;
}

function read(header: string | undefined, name: string): string {
  const parts = (header ?? "").split(";").map((part) => part.trim());
  return parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}
