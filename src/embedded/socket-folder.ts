/** A folder for unix sockets whose path is short enough to open them by. */
import {
  lstatSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { writeFileAtomically } from "#kernel/atomic-file.ts";

/** A socket's path has 104 bytes on macOS and 108 on Linux, with the byte that ends it. */
const longestPath = 103;
const longestName = "/ingress.sock".length;

/**
 * The path by which the sockets in `folder` are opened: the folder itself, or, where that is too long, a
 * link to it in a temporary directory that only this user can enter. `note` is the file that remembers the
 * link, so that a start after a kill uses it again.
 */
export function socketFolder(folder: string, note: string): string {
  if (fits(folder)) return folder;
  const known = readNote(note);
  if (known !== undefined && isOurs(known, folder)) return known;
  const link = path.join(mkdtempSync(path.join(shortRoot(), "vedette-")), "s");
  symlinkSync(folder, link);
  writeFileAtomically(note, link);
  return link;
}

function fits(folder: string): boolean {
  return Buffer.byteLength(folder) + longestName <= longestPath;
}

/** mkdtemp's directories have mode 0700; a long TMPDIR would be no help. */
function shortRoot(): string {
  const root = realpathSync(os.tmpdir());
  return fits(path.join(root, "vedette-XXXXXX", "s")) ? root : "/tmp";
}

function readNote(note: string): string | undefined {
  try {
    return readFileSync(note, "utf8");
  } catch {
    return undefined;
  }
}

/** The temporary directory is everybody's: what stands at the remembered place need not be what we left. */
function isOurs(link: string, folder: string): boolean {
  try {
    const parent = lstatSync(path.dirname(link));
    const isPrivate = parent.isDirectory() && (parent.mode & 0o077) === 0;
    return isPrivate && parent.uid === process.getuid?.() && readlinkSync(link) === folder;
  } catch {
    return false;
  }
}
