import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { isListening } from "#embedded/postgres-cluster.ts";
import { gradeHolder } from "#embedded/postgres-lock.ts";
import { tempDir } from "../support/temp-dir.ts";

const gonePid = 2 ** 30;

type Lock = { pid?: number; port?: number; status?: string };

function aCluster({ pid = process.pid, port = 5480, status = "ready   " }: Lock): string {
  const directory = tempDir();
  const lines = [pid, directory, 1_700_000_000, port, "", "127.0.0.1", "  1 2", status, ""];
  writeFileSync(path.join(directory, "postmaster.pid"), lines.join("\n"));
  return directory;
}

it("a server listens once its lock file says so", () => {
  expect(isListening(aCluster({}), 5480)).toBe(true);
});

it.each([
  { what: "is still starting", lock: { status: "starting" } },
  { what: "has another port, while another program may have this one", lock: { port: 5481 } },
  { what: "was killed and left its file", lock: { pid: gonePid } },
])("a server that $what does not listen", ({ lock }) => {
  expect(isListening(aCluster(lock), 5480)).toBe(false);
});

it("a server that has written nothing yet does not listen", () => {
  expect(isListening(tempDir(), 5480)).toBe(false);
});

const postgres = "/opt/pg/bin/postgres";
const lockedAtMs = Date.UTC(2026, 0, 1);
const atStart = lockedAtMs - 1_000;
const later = lockedAtMs + 3_600_000;

it.each([
  { executable: postgres, isInside: true, startedAtMs: undefined, who: "ours" },
  { executable: `${postgres} (deleted)`, isInside: true, startedAtMs: undefined, who: "ours" },
  { executable: postgres, isInside: false, startedAtMs: undefined, who: "other" },
  { executable: "/usr/bin/tail", isInside: true, startedAtMs: undefined, who: "other" },
  { executable: postgres, isInside: undefined, startedAtMs: undefined, who: "unknown" },
  { executable: undefined, isInside: true, startedAtMs: undefined, who: "unknown" },
  { executable: undefined, isInside: undefined, startedAtMs: undefined, who: "unknown" },
  { executable: postgres, isInside: undefined, startedAtMs: atStart, who: "unknown" },
  { executable: postgres, isInside: undefined, startedAtMs: later, who: "other" },
  { executable: undefined, isInside: undefined, startedAtMs: later, who: "other" },
])("$executable, inside $isInside, started at $startedAtMs, is $who", ({ who, ...traits }) => {
  expect(gradeHolder(traits, lockedAtMs)).toBe(who);
});

it("without a time in the lock no process is judged by its start", () => {
  const traits = { executable: postgres, isInside: undefined, startedAtMs: later };

  expect(gradeHolder(traits, undefined)).toBe("unknown");
});
