/** Finds out which user of this machine has opened a connection over loopback. */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { endianness } from "node:os";

/** Linux lists every connection with its owner; on other systems no user is recognised. */
const tables = ["/proc/net/tcp", "/proc/net/tcp6"];

/** Whether the other end is a program of the user that we run as. False when that is unknown. */
export async function isOwnUser(socket: Socket): Promise<boolean> {
  const uid = process.geteuid?.();
  if (uid === undefined) return false;
  const texts = await Promise.all(tables.map((table) => readFile(table, "utf8").catch(() => "")));
  return !socket.destroyed && ownerOf(socket, texts) === uid;
}

type Ends = Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">;

/** The user id of the other end in these tables; undefined when it is not listed, or is closed. */
export function ownerOf(ends: Ends, texts: readonly string[]): number | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = ends;
  // We look for the other end's own entry, in which it is the local one.
  const from = writeEnd(remoteAddress, remotePort);
  const to = writeEnd(localAddress, localPort);
  if (from === undefined || to === undefined) return undefined;
  for (const line of texts.flatMap((text) => text.split("\n"))) {
    const [, local = "", remote = "", state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (!isEnd(local, from) || !isEnd(remote, to)) continue;
    // A closed connection has no owner any more; the table then shows user 0.
    if (state !== established || inode === "0") return undefined;
    return Number(uid);
  }
  return undefined;
}

const established = "01";

/** IPv4 as the tables write it: the bytes in the order of the machine, then the port. */
function writeEnd(address: string | undefined, port: number | undefined): string | undefined {
  const parts = (address ?? "").replace(/^::ffff:/, "").split(".");
  if (parts.length !== 4 || port === undefined) return undefined;
  const bytes = Buffer.from(parts.map(Number));
  if (endianness() === "LE") bytes.reverse();
  const portText = port.toString(16).padStart(4, "0");
  return `${bytes.toString("hex")}:${portText}`.toUpperCase();
}

/** Also true for IPv4 over an IPv6 socket: the last four bytes are then the address. */
function isEnd(entry: string, end: string): boolean {
  return entry === end || (entry.length > end.length && entry.endsWith(end));
}
