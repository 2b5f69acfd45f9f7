import { createHash, timingSafeEqual } from "node:crypto";

/** Whether an `Authorization` header carries this token. Takes as long for a wrong one as for the right. */
export function createTokenCheck(token: string): (header: string | undefined) => boolean {
  const expected = digest(token);
  return (header) => {
    const given = /^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "";
    return timingSafeEqual(digest(given), expected);
  };
}

/** Digests have one length, which a comparison in constant time needs. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
