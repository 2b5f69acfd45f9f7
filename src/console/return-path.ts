import { isClean } from "#kernel/clean-text.ts";
import { consolePath } from "./contract.ts";

/** Only to resolve paths. */
const base = "http://console.invalid";

const longest = 500;

/** The path of the console that a page has asked to return to; the first page's for anything else. */
export function localPath(wanted: string): string {
  if (!isClean(wanted, longest) || !wanted.startsWith("/")) return consolePath;
  const url = URL.parse(wanted, base);
  if (url === null || url.origin !== base) return consolePath;
  const { pathname, search } = url;
  const isOwn = pathname === consolePath || pathname.startsWith(`${consolePath}/`);
  // What begins with two slashes, also behind dots that were resolved, would be another host.
  const isPage = isOwn && !pathname.startsWith(`${consolePath}/api/`);
  return isPage ? `${pathname}${search}` : consolePath;
}
