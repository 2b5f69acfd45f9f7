/** In whose name somebody signs in: by the claims, the settings, and the name that the account has. */
import { cleanText, isClean } from "#kernel/clean-text.ts";
import { isAllowed } from "#kernel/roles.ts";
import {
  type Claims,
  identifyPerson,
  nameOfAnother,
  noSubject,
  notForPeople,
  type PeopleSettings,
  type Recognition,
} from "./claims.ts";
import { accountOf, type Names } from "./names.ts";

/** How somebody signs in, as the log has it. */
export type How = "console" | "command line" | "device";

/** OpenID Connect Core 1.0, 2. */
const longestSubject = 255;

/** Throws 503 while Postgres, which has the names of accounts, is away. */
export type Recognize = (claims: Claims, how: How) => Promise<Recognition>;

type Parts = PeopleSettings & { issuer: string; names: Names };

export function createRecognize({ names, ...settings }: Parts): Recognize {
  return async (claims, how) => {
    const { sub: subject } = claims;
    const isUsable = typeof subject === "string" && subject !== "";
    if (!isUsable || !isClean(subject, longestSubject)) return { refusal: noSubject };
    const account = accountOf(settings, subject);

    const attempt = async (held: string | undefined): Promise<Recognition> => {
      const found = requireReader(identifyPerson(claims, settings, held), how);
      if ("refusal" in found) return found;
      const { actor } = found.caller;
      if (found.isLinked) {
        await names.assign(account, actor);
        return found;
      }
      const taken = await names.take(account, actor);
      if (taken === undefined) return { refusal: nameOfAnother(actor) };
      // Another process has been faster, with another name.
      return taken === actor ? found : attempt(taken);
    };
    return attempt(await names.find(account));
  };
}

/** The console is for those who may read. */
function requireReader(identified: Recognition, how: How): Recognition {
  if ("refusal" in identified || how !== "console") return identified;
  const { caller } = identified;
  return isAllowed(caller, "read") ? identified : { refusal: notForPeople(caller) };
}

/** For a log. */
export function subjectOf({ sub }: Claims): string {
  return cleanText(typeof sub === "string" ? sub : "", longestSubject);
}
