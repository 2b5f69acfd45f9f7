/** A folder for unix sockets whose path is short enough for them. */
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

/** A socket's path has at most 104 bytes on macOS and 108 on Linux, including the final zero byte. */
const longestPath = 103;
const longestName = "/ingress.sock".length;

/**
 * The path by which to open the sockets in `folder`: the folder itself or, when that is too long, a symbolic
 * link to it in a temporary directory that only this user can enter. `note` is a file with the path of the
 * link, so that a start after a kill uses the same one.
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

/** mkdtemp's directories have mode 0700. A long TMPDIR is of no use, so it falls back to /tmp. */
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

/** All users can write to the temporary directory, so the noted path may no longer be our link. */
function isOurs(link: string, folder: string): boolean {
  try {
    const parent = lstatSync(path.dirname(link));
    const isPrivate = parent.isDirectory() && (parent.mode & 0o077) === 0;
    return isPrivate && parent.uid === process.getuid?.() && readlinkSync(link) === folder;
  } catch {
    return false;
  }
}
