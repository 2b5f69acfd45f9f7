/** Names of three letters that the IANA has; `Intl` takes abbreviations, such as PST, too. */
const short = new Set("CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET".split(" "));

/** True if it is the name of an IANA time zone, in any case. An offset such as +02:00 is none. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(name)) return false;
  const upper = name.toUpperCase();
  if (upper.length === 3 && !short.has(upper)) return false;
  if (upper.startsWith("SYSTEMV/")) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
