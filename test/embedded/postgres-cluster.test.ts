import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { isListening, judgeHolder } from "#embedded/postgres-cluster.ts";
import { tempDir } from "../support/temp-dir.ts";

const gonePid = 2 ** 30;

type Lock = { pid?: number; port?: number; status?: string };

function aCluster({ pid = process.pid, port = 5480, status = "ready   " }: Lock): string {
  const directory = tempDir();
  const lines = [pid, directory, 1_700_000_000, port, "", "127.0.0.1", "  1 2", status, ""];
  writeFileSync(path.join(directory, "postmaster.pid"), lines.join("\n"));
  return directory;
}

it("a server listens once it says so itself", () => {
  expect(isListening(aCluster({}), 5480)).toBe(true);
});

it.each([
  { what: "is still starting", lock: { status: "starting" } },
  { what: "has another port, as a stranger may have this one", lock: { port: 5481 } },
  { what: "was killed and left its file", lock: { pid: gonePid } },
])("a server that $what does not listen", ({ lock }) => {
  expect(isListening(aCluster(lock), 5480)).toBe(false);
});

it("a server that has written nothing yet does not listen", () => {
  expect(isListening(tempDir(), 5480)).toBe(false);
});

it.each([
  { executable: "/opt/pg/bin/postgres", workingDirectory: "/data/postgres", who: "ours" },
  { executable: "/opt/pg/bin/postgres (deleted)", workingDirectory: "/data/postgres", who: "ours" },
  { executable: "/opt/pg/bin/postgres", workingDirectory: "/other/postgres", who: "stranger" },
  { executable: "/usr/bin/tail", workingDirectory: "/data/postgres", who: "stranger" },
  { executable: "/opt/pg/bin/postgres", workingDirectory: undefined, who: "unknown" },
  { executable: undefined, workingDirectory: "/data/postgres", who: "unknown" },
  { executable: undefined, workingDirectory: undefined, who: "unknown" },
])("$executable in $workingDirectory is $who", ({ who, ...traits }) => {
  expect(judgeHolder(traits, "/data/postgres")).toBe(who);
});
