import { sessionMs } from "./session.ts";

const name = "vedette_session";

/** The session's part of a `Cookie` header; empty when there is none. */
export function readCookie(header: string | undefined): string {
  const parts = (header ?? "").split(";").map((part) => part.trim());
  return parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}

/** Scripts cannot read it, and other sites cannot send it; an empty `value` deletes it. */
export function writeCookie(value: string, { isSecure }: { isSecure: boolean }): string {
  const age = value === "" ? 0 : sessionMs / 1_000;
  const base = `${name}=${value}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=${age}`;
  return isSecure ? `${base}; Secure` : base;
}
