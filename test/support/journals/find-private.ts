/** Finds what may not lie in the repository. */
import { homedir, hostname, tmpdir, userInfo } from "node:os";
import type { Journal } from "#journals/journals.ts";

/** Tokens, keys and signatures, and folders of a machine. */
const patterns = [
  /bearer /i,
  /authorization/i,
  /whsec_/,
  /PRIVATE KEY/,
  /secret-part/,
  /x-[a-z-]*signature/i,
  /\/(?:home|root|tmp|Users|var|work)\/[\w.-]+/,
];

/** Returns each private text in the journal, with the journal's handler; of this machine, too. */
export function findPrivate({ service, handler, body }: Journal): string[] {
  const text = body.toString("latin1");
  const own = [homedir(), tmpdir(), hostname(), userInfo().username].filter(
    (one) => one.length > 4,
  );
  const found = [
    ...patterns.flatMap((pattern) => pattern.exec(text)?.[0] ?? []),
    ...own.filter((one) => text.includes(one)),
  ];
  return found.map((one) => `${service}/${handler} has ${one}`);
}
