/**
 * Sessions are signed values: they survive a restart and need no database, so that a rollout can be
 * stopped while Postgres is down. A session ends by expiry, by signing out, or when its token is replaced; one
 * of somebody who has signed in at an identity provider, when the settings of that change.
 */
import { createHmac, randomBytes } from "node:crypto";
import { z } from "zod";
import { Role } from "#kernel/roles.ts";
import { isSameSecret } from "#kernel/same-secret.ts";

const SignedSession = z.object({
  id: z.string(),
  actor: z.string(),
  /** The account at the identity provider, when the person signed in there. */
  subject: z.string().optional(),
  /** The mark of the token that was used to sign in, or of the settings of the identity provider. */
  mark: z.string(),
  /** The roles that the provider's groups allow, when the person signed in there; absent: a token was used. */
  roles: z.array(Role).optional(),
  endsAtMs: z.number(),
});
export type SignedSession = z.infer<typeof SignedSession>;

/** Long enough for a shift and its hand-over. */
const sessionMs = 12 * 3_600_000;

export function createSession(actor: string, { mark, nowMs }: { mark: string; nowMs: number }) {
  const id = randomBytes(16).toString("base64url");
  return { id, actor, mark, endsAtMs: nowMs + sessionMs } satisfies SignedSession;
}

export function seal(session: SignedSession, key: Uint8Array): string {
  const body = Buffer.from(JSON.stringify(session)).toString("base64url");
  return `${body}.${sign(`ticket.${body}`, key)}`;
}

/** The session of a cookie; undefined when its signature is wrong, another version wrote it, or it has expired. */
export function unseal(text: string, key: Uint8Array, nowMs: number): SignedSession | undefined {
  const [body = "", signature = ""] = text.split(".");
  if (!isSameSecret(signature, sign(`ticket.${body}`, key))) return undefined;
  const { data: session } = SignedSession.safeParse(
    JSON.parse(Buffer.from(body, "base64url").toString()),
  );
  return session !== undefined && session.endsAtMs > nowMs ? session : undefined;
}

/** The CSRF token: pages of this session send it with writes, and pages of other sites cannot know it. */
export function csrfOf(session: Pick<SignedSession, "id">, key: Uint8Array): string {
  return sign(`csrf.${session.id}`, key);
}

function sign(text: string, key: Uint8Array): string {
  return createHmac("sha256", key).update(text).digest("base64url");
}

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

/** The path below which the browser begins a sign-in at the provider, and comes back. */
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

/** The time that the page has to read why a sign-in failed. */
export const noteSeconds = 60;

/** The cookie that says why a sign-in failed, until the page has read it; an empty `value` deletes it. */
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
