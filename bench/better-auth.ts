/**
 * keys.verifyKey compared with verifyApiKey of better-auth and its API-key plugin, with the same Postgres, the
 * same Fastify and the same 1,000 keys. Ours records every verification and answers from memory, which
 * Postgres's notifications keep up to date. better-auth reads the key and writes its `updatedAt` in Postgres
 * each time; "in memory" is the same with a Map as its store, which is not usable in production.
 *
 * Packages are installed beforehand: `npm ci --prefix bench/peers` and `npm ci --prefix bench/better-auth`.
 */
import { type ApiBench, askedToVerify, insertKeys, type Served, withApi } from "./api-fixture.ts";
import { compare } from "./compare.ts";
import { requirePackages } from "./packages.ts";
import { finishBench, reportFigure, startBench } from "./run.ts";

const keyCount = 1_000;

/** The aim (docs/measured.md, "Aims"). */
const leastTimes = 5;

const program = new URL("./better-auth/server.mjs", import.meta.url);

const asked = (server: Served) => askedToVerify(server, keyCount);

async function measure({ database, databaseUrl, serve }: ApiBench): Promise<void> {
  await insertKeys(database, keyCount);
  const servePeer = async (kind: string) => {
    const name = `better_auth_${kind}`;
    await database.query(`CREATE DATABASE ${name}`);
    const url = new URL(databaseUrl);
    url.pathname = name;
    const environment = { DATABASE_URL: url.href, BENCH_KEYS: String(keyCount) };
    return serve(kind, { program, environment });
  };
  const found = await compare({
    "better-auth": asked(await servePeer("database")),
    "better-auth, in memory": asked(await servePeer("memory")),
    verifyKey: asked(await serve("api")),
  });
  const timesOf = (peer: keyof typeof found) => found.verifyKey.perSecond / found[peer].perSecond;
  const inMemory = timesOf("better-auth, in memory");
  reportFigure("verifyKey against better-auth, in memory", inMemory, { unit: "times" });
  reportFigure("verifyKey against better-auth", timesOf("better-auth"), {
    atLeast: leastTimes,
    unit: "times",
  });
}

requirePackages("better-auth");
startBench("better-auth");
await withApi(measure);
finishBench();
