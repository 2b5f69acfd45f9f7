/**
 * One process of bench/better-auth.ts: verifyApiKey of better-auth behind the same Fastify as ours, with its
 * limits off. BENCH_KIND `database`: keys in Postgres, its default; `memory`: keys in a Map of this process,
 * which is its fastest configuration, and stores nothing durably.
 *
 * Not TypeScript, because its packages belong to this folder and not to the project, whose type check must
 * pass without them.
 */
import { apiKey } from "@better-auth/api-key";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { fastify } from "fastify";
import pg from "pg";

const keyCount = Number(process.env.BENCH_KEYS);

function createKeyNames() {
  let made = 0;
  // The same names as those of benchKey() in ../api-fixture.ts.
  return () => `bench_key_${made++}`;
}

function createMemory() {
  const entries = new Map();
  return {
    get: async (name) => entries.get(name) ?? null,
    set: async (name, value) => void entries.set(name, value),
    delete: async (name) => void entries.delete(name),
  };
}

const inMemory = { storage: "secondary-storage", customStorage: createMemory() };
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const options = {
  baseURL: "http://127.0.0.1",
  secret: "a secret of the bench, as long as it asks for",
  database: pool,
  emailAndPassword: { enabled: true },
  logger: { level: "error" },
  plugins: [
    apiKey({
      ...(process.env.BENCH_KIND === "memory" && inMemory),
      customKeyGenerator: createKeyNames(),
      rateLimit: { enabled: false },
    }),
  ],
};

await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const { user } = await auth.api.signUpEmail({
  body: { name: "bench", email: "bench@example.com", password: "a password of the bench" },
});
for (let made = 0; made < keyCount; made += 1) {
  await auth.api.createApiKey({ body: { userId: user.id } });
}

const app = fastify();
app.post("/*", async (request, reply) => {
  const answer = await auth.api.verifyApiKey({ body: { key: request.body.key } });
  return reply.code(answer.valid ? 200 : 401).send(answer);
});
const url = await app.listen({ host: "127.0.0.1", port: 0 });
process.send?.({ url });
process.once("SIGTERM", async () => {
  await app.close();
  await pool.end();
  process.exit();
});
