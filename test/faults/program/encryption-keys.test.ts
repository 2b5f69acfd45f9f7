/** `api` processes on one database, each with encryption keys of its own or with the same. */
import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import { createCertificateStore } from "#api/tls/certificate-store.ts";
import { type App, startApp } from "#app/app.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import { callProcedure } from "../../support/api/api.ts";
import { runVedette } from "../../support/program/command.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";
import { tempDir } from "../../support/temp-dir.ts";

const log = createLog({ level: "silent", format: "json" });
const rootKey = "a-root-key-of-the-settings";

const { database, url } = prepareDatabase({ isEmpty: true });

beforeEach(async () => {
  const { rows } = await database().query("SELECT to_regclass('encryption_key_marks') AS there");
  if (rows[0].there !== null) {
    await database().query("DELETE FROM encryption_key_marks");
    await database().query("DELETE FROM encrypted_keys");
  }
});

const newKey = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;

/** Starts one `api` process's worth of program, until `stop` or the end of the test. */
async function start(keys: string[], over: Record<string, string> = {}): Promise<App> {
  const environment = {
    VEDETTE_DATA_DIR: tempDir(),
    DATABASE_URL: url(),
    VEDETTE_API__PORT: "0",
    VEDETTE_METRICS__PORT: "0",
    VEDETTE_ANALYTICS__ENABLED: "false",
    VEDETTE_ROOT_KEY: rootKey,
    VEDETTE_API__ENCRYPTION_KEYS: keys.join(","),
    ...over,
  };
  const app = await startApp(readConfig({ environment }), { roles: ["api"], log });
  onTestFinished(app.stop);
  return app;
}

/** The status of the answer to a request for a recoverable key. */
async function makeRecoverable(app: App): Promise<number> {
  const v2 = `${app.endpoints.api}/v2`;
  const { body } = await callProcedure(`${v2}/apis.createApi`, { name: "payments" }, rootKey);
  const key = { apiId: body["data"].apiId, recoverable: true };
  return (await callProcedure(`${v2}/keys.createKey`, key, rootKey)).status;
}

/** Stores a text that is sealed by this key. */
async function sealWith(key: string): Promise<void> {
  const store = createCertificateStore({
    database: database(),
    keyRing: createKeyRing([key]),
    log,
  });
  await store.writeAccount("https://acme.test", "secret");
  onTestFinished(async () => void (await database().query("DELETE FROM acme_accounts")));
}

const missing = /^api\.encryption_keys: the key ".*" is missing, .*set the same keys/;

describe("a process with other keys than those before it", () => {
  it("is refused with an error that says what to set, and quotes no key", async () => {
    const [first, second] = [newKey("one"), newKey("two")];
    await start([first]);

    const refused = start([second]);

    await expect(refused).rejects.toThrow(missing);
    await expect(refused).rejects.not.toThrow(second.slice(4));
  });

  it("is also refused when the keys have the same name", async () => {
    await start([newKey("2026")]);

    await expect(start([newKey("2026")])).rejects.toThrow(
      'the key "2026" is not the one of that name which the other processes of this database have',
    );
  });

  it("is refused when its settings have no key", async () => {
    await start([newKey("2026")]);

    await expect(start([])).rejects.toThrow(missing);
  });

  it("is refused when both start at the same moment", async () => {
    const ends = await Promise.allSettled([start([newKey("one")]), start([newKey("two")])]);

    expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  it("may start after an operator has declared the earlier keys lost", async () => {
    await start([newKey("lost")]);

    const { code, stderr } = await runVedette(["keys", "forget-encryption-keys"], {
      DATABASE_URL: url(),
      VEDETTE_DATA_DIR: tempDir(),
    });

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    await expect(start([newKey("new")])).resolves.toBeDefined();
  });

  it("does not reseal what the others have sealed", async () => {
    await start([newKey("2026")]);

    const { code, stderr } = await runVedette(["keys", "reseal"], {
      DATABASE_URL: url(),
      VEDETTE_DATA_DIR: tempDir(),
      VEDETTE_API__ENCRYPTION_KEYS: newKey("2027"),
    });

    expect(code).toBe(1);
    expect(stderr).toContain('the key "2026" is missing');
  });
});

it("a rotation can be done process by process, and reverted before it is complete", async () => {
  const [old, next] = [newKey("2025"), newKey("2026")];
  await start([old]);
  await start([old]);

  await start([next, old]);
  await start([old]);
  await start([next, old]);
  await start([next]);

  await expect(start([old])).rejects.toThrow('the key "2026" is missing');
});

describe("processes whose keys were generated, each in its own data directory", () => {
  it("start beside each other while nothing is sealed", async () => {
    await start([]);

    await expect(start([])).resolves.toBeDefined();
  });

  it("do not seal with different keys, and only the one that has sealed starts again", async () => {
    const [dataDir, otherDir] = [tempDir(), tempDir()];
    const first = await start([], { VEDETTE_DATA_DIR: dataDir });
    const second = await start([], { VEDETTE_DATA_DIR: otherDir });

    const statuses = [await makeRecoverable(first), await makeRecoverable(second)];
    await first.stop();
    await second.stop();

    expect(statuses).toEqual([200, 500]);
    await expect(start([], { VEDETTE_DATA_DIR: otherDir })).rejects.toThrow(
      'the key "generated" is not the one of that name',
    );
    await expect(start([], { VEDETTE_DATA_DIR: dataDir })).resolves.toBeDefined();
  });
});

describe("a database without a record of the right keys", () => {
  it("accepts the keys that open what is sealed, whichever process starts first", async () => {
    const [right, wrong] = [newKey("2025"), newKey("2026")];
    await (await start([right])).stop();
    await database().query("DELETE FROM encryption_key_marks");
    await sealWith(right);

    await start([wrong]);
    await start([right]);

    await expect(start([wrong])).rejects.toThrow('the key "2025" is missing');
  });
});

it("the one process of an embedded database starts although its earlier keys are lost", async () => {
  const embedded = {
    DATABASE_URL: "",
    VEDETTE_DATABASE__PORT: "0",
    VEDETTE_DATA_DIR: tempDir(),
  };
  await (await start([newKey("lost")], embedded)).stop();

  const app = await start([newKey("new")], embedded);

  expect(await makeRecoverable(app)).toBe(500);
});
