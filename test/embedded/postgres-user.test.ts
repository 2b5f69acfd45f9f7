import { expect, it } from "vitest";
import { mayEnter } from "#embedded/postgres-user.ts";

const user = { uid: 101, gid: 104 };

it.each([
  ["everyone may enter", { mode: 0o755, uid: 0, gid: 0 }, true],
  ["only root may enter", { mode: 0o700, uid: 0, gid: 0 }, false],
  ["everyone may read but not enter", { mode: 0o704, uid: 0, gid: 0 }, false],
  ["only the user may enter", { mode: 0o700, uid: 101, gid: 0 }, true],
  ["only the user's group may enter", { mode: 0o710, uid: 0, gid: 104 }, true],
  // The first matching class decides, as in the kernel: the bits for others don't apply to the owner.
  ["everyone but the user may enter", { mode: 0o011, uid: 101, gid: 0 }, false],
  ["everyone but the user's group may enter", { mode: 0o701, uid: 0, gid: 104 }, false],
])("decides a directory that %s", (_case, directory, expected) => {
  const answer = mayEnter(directory, user);

  expect(answer).toBe(expected);
});
