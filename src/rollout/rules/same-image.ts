/** Whether two references are of the same image: one may lack the digest to which the other is pinned. Pure. */
export function isSameImage(one: string, other: string): boolean {
  const [name, digest] = one.split("@");
  const [otherName, otherDigest] = other.split("@");
  const hasBoth = digest !== undefined && otherDigest !== undefined;
  return hasBoth ? digest === otherDigest : name === otherName;
}
