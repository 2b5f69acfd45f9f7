/** The path of the same page for another fleet; what only one fleet has is left for the list it is in. Pure. */
export function pathInOtherFleet(path: string): string {
  return /^\/(?:fleet|history)(?=\/)/.exec(path)?.[0] ?? path;
}
