/** The target of a request: it is forwarded byte by byte, or refused. */
import { ProblemError } from "#kernel/problem.ts";

export type Target = {
  path: string;
  /** The host that the target itself names, which takes precedence over the `Host` header. */
  authority: string | undefined;
};

/** Prepends `basePath`, which has no trailing slash. Throws a 400 for an ambiguous target. */
export function targetOf({ url }: { url?: string | undefined }, basePath: string): Target {
  const { authority, path } = splitTarget(url ?? "");
  refuseAmbiguous(path);
  return { path: `${basePath}${path}`, authority };
}

/**
 * Origin form (`/path`) or absolute form (`http://host/path`), of RFC 9112, section 3.2. The asterisk form
 * of OPTIONS is refused: it is not a path, and our clients don't use it.
 */
function splitTarget(target: string): Target {
  if (target.startsWith("/")) return { path: target, authority: undefined };
  const absolute = /^https?:\/\/([\w.:[\]-]+)([/?].*)?$/i.exec(target);
  if (absolute === null) throw badTarget("it must be a path, such as /orders?id=7");
  const rest = absolute[2] ?? "/";
  return { path: rest.startsWith("/") ? rest : `/${rest}`, authority: absolute[1] };
}

/** A path that servers read differently could bypass access rules for paths. */
function refuseAmbiguous(path: string): void {
  if (/[^!-~]|[\\#]/.test(path)) {
    throw badTarget("spaces, backslashes, # and non-ASCII characters must be percent-encoded");
  }
  const segments = (path.split("?", 1)[0] ?? "").split(/\/|%2f|%5c/i);
  if (segments.some(isDots))
    throw badTarget('send it without "." and ".." as segments of its path');
}

/** `.` or `..` in any encoding, also with parameters (`;x`), which some servers remove. */
function isDots(segment: string): boolean {
  return /^\.{1,2}$/.test((segment.split(/;|%3b/i, 1)[0] ?? "").replace(/%2e/gi, "."));
}

function badTarget(advice: string): ProblemError {
  const detail = `the target of the request is not clear: ${advice}`;
  return new ProblemError({ status: 400, code: "bad_target", detail });
}
