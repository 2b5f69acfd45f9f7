/** Comparison with allowed names, in which `*` stands for any characters. */

/**
 * True if the whole of `text` fits one of the patterns. Case counts. Of a pattern with an `@` what is before it fits what is
 * before the first one of the text: a branch may be called `x@refs/heads/main`.
 */
export function matchesAny(text: string, patterns: readonly string[]): boolean {
  const [name, ref] = splitAtFirst(text);
  return patterns.some((pattern) => {
    const [wanted, wantedRef] = splitAtFirst(pattern);
    if (wantedRef === undefined) return matches(text, pattern);
    return ref !== undefined && matches(name, wanted) && matches(ref, wantedRef);
  });
}

function splitAtFirst(text: string): [string, string?] {
  const at = text.indexOf("@");
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Matches without a regular expression: several `*` would make one slow, and the text is the signer's. */
function matches(text: string, pattern: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return text.length - from >= last.length && text.endsWith(last);
}

/**
 * A repository's address, so that what builders write compares with what people write:
 * `git+https://GitHub.com/acme/gw.git@refs/heads/main` is https://github.com/acme/gw. Without `git+`, password,
 * `.git`, `@ref`, `#ref` and the slash at the end; the host in lower case. Text that is no address stays as it is.
 */
export function normalizeSource(text: string): string {
  const url = URL.parse(text.trim().replace(/^git\+/i, ""));
  if (url === null || url.host === "") return text;
  // A ref may have slashes, and a name may begin with @. `URL` has already followed each `..` of the path.
  const path = url.pathname
    .replace(/(?<=[^/])@.*$/s, "")
    .replace(/(?<!\/)\/+$/, "")
    .replace(/\.git$/, "");
  return `${url.protocol}//${url.host.toLowerCase()}${path}${url.search}`;
}
