/** Describes the fault of an address that people write, without quoting it: it may have a secret. */

export type WantedUrl = {
  /** Schemes without `://`; absent: any, as Postgres' client takes them. */
  schemes?: readonly string[];
  example: string;
  /** Advice instead of a user or password in it; absent: it may have them. */
  insteadOfUser?: string | undefined;
  /** True if paths are added to it, so that it may have no query. */
  isBase?: boolean;
};

export const httpSchemes = ["https", "http"] as const;

/** One of http to which paths are added. */
export const baseUrl = (example: string, insteadOfUser?: string): WantedUrl => ({
  ...{ schemes: httpSchemes, example, insteadOfUser, isBase: true },
});

/** Replaces each `{{NAME}}` of a secret by a letter. */
export const fillPlaceholders = (text: string) => text.replace(/\{\{[^{}]*\}\}/g, "x");

/** undefined: nothing. The first of several faults, since one often makes the next. */
export function findUrlFault(given: string, wanted: WantedUrl): string | undefined {
  if (given === "") return `is empty: give an address such as ${wanted.example}`;
  return textFaultOf(given) ?? partFaultOf(given, wanted) ?? unreadable(given, wanted);
}

function textFaultOf(given: string): string | undefined {
  if (given.trim() !== given) return "begins or ends with a blank or a line end: remove it";
  if (/[\s\p{Cc}]/u.test(given)) return "has a blank or a line end in it: a blank is written %20";
  if (given.includes("\\")) return "has a backslash: write / or %5C";
  return given.includes("#") ? "has a #, after which nothing counts: write it as %23" : undefined;
}

function partFaultOf(given: string, wanted: WantedUrl): string | undefined {
  const { schemes, insteadOfUser, isBase, example } = wanted;
  const [, scheme, authority = "", rest = ""] =
    /^([a-z][a-z\d+.-]*):\/\/([^/?]*)(.*)$/i.exec(given) ?? [];
  if (scheme === undefined) return `has to be a whole address such as ${example}`;
  if (schemes?.includes(scheme.toLowerCase()) === false) {
    return `has to begin with ${schemes.map((one) => `${one}://`).join(" or ")}`;
  }
  if (/^[a-z]+:?$/i.test(authority) && rest.startsWith("//")) return "has two schemes: leave one";
  const user = /^.*@/.exec(authority)?.[0] ?? "";
  if (user !== "" && insteadOfUser) return `has a user or a password: ${insteadOfUser}`;
  if (isBase && rest.includes("?")) return "has a ?, and paths are added to it: leave it out";
  // With digits before the slash it would be a host and a port.
  const isSplit = user === "" && !/^http/i.test(scheme) && /^[^?]*@/.test(rest);
  return isSplit ? splitPassword : hostFaultOf(authority.slice(user.length), scheme, rest);
}

function hostFaultOf(host: string, scheme: string, rest: string): string | undefined {
  // Postgres may be at a socket, and Redis on this machine.
  if (host === "" && !/^(?:postgres|redis)/i.test(scheme)) return "names no host";
  if (/^[^[,]*:[^[,]*:/.test(host)) {
    return "has an address of IPv6 without brackets: write it as [2001:db8::1]";
  }
  const port = /:([^\]:]*)$/.exec(host)?.[1] ?? "";
  if (/^\d*$/.test(port) && Number(port) <= 65_535) return undefined;
  return rest.includes("@") ? splitPassword : "has a port that is no number from 0 to 65535";
}

const splitPassword = "has a / or ? in its password: write them as %2F and %3F";

function unreadable(given: string, { example }: WantedUrl): string | undefined {
  const isRead = URL.canParse(given.replace(/^(postgres\w*:\/\/[^/]*@)\//i, "$1localhost/"));
  return isRead ? undefined : `is no address such as ${example}`;
}
