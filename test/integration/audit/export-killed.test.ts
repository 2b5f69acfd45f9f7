/** An export that is killed again and again, while rows are written and others seal them, loses and repeats nothing. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { startSealing, verify } from "#audit/chain.ts";
import { actorOf, recordAudit } from "#kernel/audit.ts";
import { inTransaction, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { entry } from "../../support/program/command.ts";
import { startTestDatabase } from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const kills = 3;

type Line = { cursor: number; id: string };

async function startDatabase() {
  const server = await startTestDatabase();
  await migrate(server.url, log);
  const database = openDatabase(server.url, log);
  onTestFinished(async () => {
    await database.end();
    await server.stop();
  });
  return { database, url: server.url };
}

/** Reads whole lines until `enough`, and kills the export then. */
async function exportUntil(url: string, since: number, enough: (lines: Line[]) => boolean) {
  const child = spawn(
    process.execPath,
    [entry, "audit", "export", "--since", String(since), "--follow"],
    {
      env: { PATH: process.env["PATH"], DATABASE_URL: url },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const closed = once(child, "close");
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const lines = () =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  await waitFor(() => enough(lines()), { withinMs: 60_000, what: "lines of the export" });
  child.kill("SIGKILL");
  await closed;
  return lines();
}

it("an export that goes on from its last whole line has each row once, in order", async () => {
  const { database, url } = await startDatabase();
  const sealing = startSealing(database, log, 0);
  onTestFinished(sealing.stop);
  let isOver = false;
  let written = 0;
  const write = async (part: number) => {
    for (let i = 0; !isOver; i += 1) {
      await inTransaction(database, async (transaction) => {
        const what = { event: "pin.add", description: `${part}-${i}`, targets: [] };
        await recordAudit(transaction, [{ ...what, actor: actorOf("ada") }]);
        await delay(Math.random() * 60);
      });
      written += 1;
    }
  };
  const writing = Promise.all([write(1), write(2)]);

  const seen: Line[] = [];
  for (let kill = 1; kill <= kills; kill += 1) {
    const since = seen.at(-1)?.cursor ?? 0;
    seen.push(...(await exportUntil(url, since, (lines) => lines.length > kill * 7)));
  }
  isOver = true;
  await writing;
  const since = seen.at(-1)?.cursor ?? 0;
  seen.push(...(await exportUntil(url, since, (lines) => since + lines.length >= written)));

  expect(seen.map(({ cursor }) => cursor)).toEqual(
    Array.from({ length: written }, (_, i) => i + 1),
  );
  expect(new Set(seen.map(({ id }) => id)).size).toBe(written);
  expect(await verify(database)).toMatchObject({ state: "intact", rows: written });
}, 120_000);
