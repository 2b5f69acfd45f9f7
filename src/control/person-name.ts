/**
 * The name of a claim as it is compared and recorded. Only ASCII letters are made lower-case: other letters
 * may become an ASCII one, such as the Kelvin sign, and with it somebody else's name. `sub` is as it is, because
 * its letters' case distinguishes people (OpenID Connect Core 1.0, 2).
 */
export function lowerCaseName(name: string, claim: string): string {
  if (claim === "sub") return name;
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
