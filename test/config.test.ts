import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConfigError, readConfig } from "#config.ts";
import { defaultPolicy } from "#rollout/config.ts";

function writeToml(text: string): string {
  const directory = mkdtempSync(path.join(tmpdir(), "vedette-config-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = path.join(directory, "vedette.toml");
  writeFileSync(file, text);
  return file;
}

describe("readConfig", () => {
  it("has the documented value for every setting that is absent", () => {
    const config = readConfig({ environment: {} });

    expect(config).toMatchObject({
      data_dir: ".vedette",
      api: { host: "127.0.0.1", port: 7070, root_key: "" },
      control: { host: "127.0.0.1", port: 7071, ingress_token: "" },
      worker: { host: "127.0.0.1", port: 9480 },
      restate: { ingress_url: "", admin_url: "", ingress_port: 8480, admin_port: 9470 },
      database: { url: "", port: 5480 },
      slack: { sentinel_rollout_webhook_url: "" },
      fleet: { driver: "process", deploy_timeout_seconds: 600, process: { size: 12 } },
      rollout: { max_parallel: 100 },
    });
  });

  it.each([
    "",
    " ",
    "12x",
    "1.5",
    "0x10",
    "1e1",
    "true",
    "NaN",
    "Infinity",
    "-1",
    "99999999999999999999",
  ])("refuses %j as a number, which is no whole one in its range", (value) => {
    const names = ["CONTROL__PORT", "FLEET__PROCESS__SIZE", "FLEET__LIST_MAX_MISSING_PERCENT"];
    for (const name of names) {
      const path = name.toLowerCase().replaceAll("__", ".");

      const read = () => readConfig({ environment: { [`VEDETTE_${name}`]: value } });

      expect(read).toThrow(`${path}: `);
    }
  });

  it.each(["true", "[]", "[1]", '""', "1.5"])("refuses %s as a port in the file", (value) => {
    const file = writeToml(`[control]\nport = ${value}\n`);

    expect(() => readConfig({ file, environment: {} })).toThrow("control.port: ");
  });

  it.each(["nonsense", "10.0.0.0/33", "10.0.0.0/8/8", "10.0.0.0/", "10.0.0.0/8,x", "::/129"])(
    "refuses %s as trusted proxies",
    (value) => {
      for (const table of ["CONTROL", "API", "FLEET__PROCESS"]) {
        const name = `VEDETTE_${table}__TRUSTED_PROXIES`;

        expect(() => readConfig({ environment: { [name]: value } })).toThrow("trusted_proxies: ");
      }
    },
  );

  it("takes addresses and ranges as trusted proxies", () => {
    const value = "10.0.0.0/8, 192.0.2.7,::1,2001:db8::/32";

    const config = readConfig({ environment: { VEDETTE_CONTROL__TRUSTED_PROXIES: value } });

    expect(config.control.trusted_proxies).toHaveLength(4);
  });

  it("takes an empty VEDETTE_CONFIG for none, and a blank data_dir for a mistake", () => {
    expect(readConfig({ environment: { VEDETTE_CONFIG: "" } }).data_dir).toBe(".vedette");
    expect(() => readConfig({ environment: { VEDETTE_DATA_DIR: " " } })).toThrow("data_dir: ");
  });

  it("takes a setting that stands in no table from the environment", () => {
    const config = readConfig({ environment: { VEDETTE_SHUTDOWN_DELAY_SECONDS: "20" } });

    expect(config.shutdown_delay_seconds).toBe(20);
  });

  it("reads the file, and puts the environment over it", () => {
    const file = writeToml("[fleet]\ndeploy_timeout_seconds = 30\n[fleet.process]\nsize = 3\n");

    const config = readConfig({ file, environment: { VEDETTE_FLEET__PROCESS__SIZE: "5" } });

    expect(config.fleet.deploy_timeout_seconds).toBe(30);
    expect(config.fleet.process.size).toBe(5);
  });

  it.each([
    ["INGRESS_TOKEN", (config: ReturnType<typeof readConfig>) => config.control.ingress_token],
    ["VEDETTE_ROOT_KEY", (config: ReturnType<typeof readConfig>) => config.api.root_key],
    ["DATABASE_URL", (config: ReturnType<typeof readConfig>) => config.database.url],
    [
      "VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL",
      (config: ReturnType<typeof readConfig>) => config.slack.sentinel_rollout_webhook_url,
    ],
  ])("takes %s from the environment", (name, read) => {
    const config = readConfig({ environment: { [name]: "https://example.com/x" } });

    expect(read(config)).toBe("https://example.com/x");
  });

  it.each([
    ["INGRESS_TOKEN", (config: ReturnType<typeof readConfig>) => config.control.ingress_token],
    ["VEDETTE_CONTROL__INGRESS_TOKEN", (config) => config.control.ingress_token],
    ["VEDETTE_CONTROL__OIDC__CLIENT_SECRET", (config) => config.control.oidc.client_secret],
    ["VEDETTE_ROOT_KEY", (config) => config.api.root_key],
    ["VEDETTE_API__ENCRYPTION_KEYS", (config) => config.api.encryption_keys[0]],
    ["DATABASE_URL", (config) => config.database.url],
    ["CLICKHOUSE_URL", (config) => config.clickhouse.url],
    ["VEDETTE_CRON__KEY_REFILL__HEARTBEAT_URL", (config) => config.cron.key_refill.heartbeat_url],
    ["VEDETTE_FLEET__HTTP__TOKEN", (config) => config.fleet.http.token],
    ["VEDETTE_CI__COMMIT__TOKEN", (config) => config.ci.commit.token],
    ["VEDETTE_SLACK__QUOTA_CHECK_WEBHOOK_URL", (config) => config.slack.quota_check_webhook_url],
    ["VEDETTE_MONITOR__ROOT_KEY", (config) => config.monitor.root_key],
    ["VEDETTE_INCIDENT__API_KEY", (config) => config.incident.api_key],
    ["VEDETTE_ALERTMANAGER__STAGING__URL", (config) => config.alertmanager.staging.url],
  ] satisfies [string, (config: ReturnType<typeof readConfig>) => unknown][])(
    "takes the secret %s from the file that a variable names",
    (name, read) => {
      const file = writeToml("https://example.com/x\n");
      const settings = writeToml("[control]\ningress_token = 'of the file'\n");

      const config = readConfig({ file: settings, environment: { [`${name}_FILE`]: file } });

      expect(read(config)).toBe("https://example.com/x");
    },
  );

  it("takes Redis' address, and a key in each line, from files", () => {
    const environment = {
      REDIS_URL_FILE: writeToml("rediss://:hunter2@redis\n"),
      VEDETTE_API__ENCRYPTION_KEYS_FILE: writeToml("2:bbb\n1:aaa\n"),
    };

    const config = readConfig({ environment });

    expect(config.redis.url).toBe("rediss://:hunter2@redis");
    expect(config.api.encryption_keys).toEqual(["2:bbb", "1:aaa"]);
  });

  it("reports all secrets that no file has, without those that are set", () => {
    const environment = {
      REDIS_URL_FILE: "/nowhere/redis",
      INGRESS_TOKEN_FILE: writeToml("\n"),
      VEDETTE_ROOT_KEY: "hunter2",
      VEDETTE_ROOT_KEY_FILE: writeToml("hunter3"),
    };

    const lines = faultsOf(() => readConfig({ environment }));

    expect(lines).toEqual([
      "REDIS_URL_FILE names a file that does not exist",
      "INGRESS_TOKEN_FILE names a file that is empty",
      "VEDETTE_ROOT_KEY and VEDETTE_ROOT_KEY_FILE are both set: unset one",
    ]);
  });

  it("refuses a secret that is given by both of its names, and none for an empty name of a file", () => {
    const file = writeToml("hunter2");
    const both = [
      { INGRESS_TOKEN_FILE: file, VEDETTE_CONTROL__INGRESS_TOKEN: "hunter3" },
      { INGRESS_TOKEN: "hunter3", VEDETTE_CONTROL__INGRESS_TOKEN_FILE: file },
      { INGRESS_TOKEN_FILE: file, VEDETTE_CONTROL__INGRESS_TOKEN_FILE: file },
    ];
    const settings = writeToml("[database]\nurl = 'postgres://db.example.com/vedette'\n");
    const empty = { DATABASE_URL: "", DATABASE_URL_FILE: "" };

    for (const environment of both) {
      const lines = faultsOf(() => readConfig({ environment }));
      expect(lines.join()).toMatch(/^\w+ and \w+ are both set: unset one/);
      expect(lines.join()).not.toContain("hunter");
    }
    expect(readConfig({ file: settings, environment: empty }).database.url).toBe("");
    expect(
      readConfig({ file: settings, environment: { DATABASE_URL_FILE: "" } }).database.url,
    ).toBe("postgres://db.example.com/vedette");
  });

  it("takes no file for what is no secret, or has a file of its own", () => {
    const environment = {
      VEDETTE_FLEET__DRIVER_FILE: writeToml("http"),
      VEDETTE_CONTROL__PUBLIC_URL_FILE: writeToml("https://example.com"),
    };
    const own = { VEDETTE_ALERTS__PRODUCTION__TOKEN_FILE: "/run/secrets/token" };

    expect(faultsOf(() => readConfig({ environment }))).toEqual([
      'control: unknown name "public_url_file"',
      'fleet: unknown name "driver_file"',
    ]);
    expect(readConfig({ environment: own }).alerts.production.token_file).toBe(
      "/run/secrets/token",
    );
  });

  it.each([
    ["DATABASE_URL", "postgres://user:hun#ter2@db.example.com/v", "database.url: has a #"],
    ["DATABASE_URL", "postgres://user:hun/ter2@db.example.com/v", "database.url: has a / or ?"],
    [
      "DATABASE_DIRECT_URL",
      "user:hunter2@db.example.com",
      "database.direct_url: has to be a whole",
    ],
    ["REDIS_URL", "redis://:hunter2 @redis.example.com", "redis.url: has a blank"],
    ["VEDETTE_INCIDENT__URL", "https://a.example/#hunter2", "incident.url: has a #"],
    ["VEDETTE_INCIDENT__URL", "https://a.example/?hunter2", "incident.url: has a ?"],
    ["VEDETTE_INCIDENT__URL", "https://u:hunter2@a.example/", "incident.url: has a user"],
    ["VEDETTE_FLEET__HTTP__URL", "https://a.example:70000", "fleet.http.url: has a port"],
    ["VEDETTE_CONTROL__PUBLIC_URL", "http://2001:db8::1", "control.public_url: has an address of"],
    [
      "VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL",
      "https://https://hooks.slack.com/hunter2",
      "slack.sentinel_rollout_webhook_url: has two schemes",
    ],
  ])("says what is wrong with the address in %s, without showing it: %s", (name, value, words) => {
    const lines = faultsOf(() => readConfig({ environment: { [name]: value } })).join();

    expect(lines).toContain(words);
    expect(lines).not.toMatch(/hun.?ter2/);
  });

  it("takes an address with blanks and a line end around it", () => {
    const environment = { DATABASE_URL: " postgres://db.example.com/vedette\n" };

    expect(readConfig({ environment }).database.url).toBe("postgres://db.example.com/vedette");
  });

  it("takes the address of Postgres behind a pooler, and refuses it alone", () => {
    const DATABASE_DIRECT_URL = "postgres://user:hunter2@db.example.com/vedette";
    const DATABASE_URL = "postgres://pooler.example.com/vedette";

    const config = readConfig({ environment: { DATABASE_URL, DATABASE_DIRECT_URL } });
    const lines = faultsOf(() => readConfig({ environment: { DATABASE_DIRECT_URL } }));

    expect(config.database.direct_url).toBe(DATABASE_DIRECT_URL);
    expect(lines.join()).toContain("set database.url as well");
    expect(lines.join()).not.toContain("hunter2");
  });

  it("finds the file by VEDETTE_CONFIG", () => {
    const file = writeToml("[rollout]\nmax_parallel = 7\n");

    expect(readConfig({ environment: { VEDETTE_CONFIG: file } }).rollout.max_parallel).toBe(7);
  });

  it("has which sentinels rollouts take first, as text and as TOML", () => {
    const choice = {
      canary_labels: { tier: "canary" },
      regions: ["eu", "us"],
      max_per_region: "25%",
      max_unavailable: 2,
    };
    const file = writeToml(
      '[rollout]\nregions = ["eu", "us"]\nmax_per_region = "25%"\nmax_unavailable = 2\ncanary_labels = { tier = "canary" }\n',
    );
    const environment = {
      VEDETTE_ROLLOUT__CANARY_LABELS: "tier=canary",
      VEDETTE_ROLLOUT__REGIONS: "eu, us",
      VEDETTE_ROLLOUT__MAX_PER_REGION: "25%",
      VEDETTE_ROLLOUT__MAX_UNAVAILABLE: "2",
    };

    expect(readConfig({ environment }).rollout).toMatchObject(choice);
    expect(readConfig({ environment: { VEDETTE_CONFIG: file } }).rollout).toMatchObject(choice);
    expect(defaultPolicy(readConfig({ environment }).rollout)).toEqual(choice);
  });

  it("has what each operator may do, as text and as TOML", () => {
    const hash = "ab".repeat(32);
    const other = "cd".repeat(32);
    const every = ["read", "operate", "approve", "notify", "configure"];
    const operators = {
      alice: { token: hash, roles: every },
      bob: { token: other, roles: ["read", "approve"] },
    };
    const file = writeToml(
      `[control.operators]\nalice = "sha256:${hash}"\nbob = { token = "${other}", roles = ["read", "approve"] }\n`,
    );
    const environment = {
      VEDETTE_CONTROL__OPERATORS__ALICE: hash,
      VEDETTE_CONTROL__OPERATORS__BOB__TOKEN: other,
      VEDETTE_CONTROL__OPERATORS__BOB__ROLES: "read, approve",
    };

    expect(readConfig({ environment }).control.operators).toEqual(operators);
    expect(readConfig({ file, environment: {} }).control.operators).toEqual(operators);
  });

  it("takes no order of the environment for an operator without roles", () => {
    const ALICE = ["VEDETTE_CONTROL__OPERATORS__ALICE", "ab".repeat(32)] as const;
    const ROLES = ["VEDETTE_CONTROL__OPERATORS__ALICE__ROLES", "read"] as const;

    for (const entries of [
      [ALICE, ROLES],
      [ROLES, ALICE],
    ]) {
      const lines = faultsOf(() => readConfig({ environment: Object.fromEntries(entries) }));
      expect(lines.join()).toContain("control.operators.alice");
    }
  });

  it("refuses a token that two callers would have", () => {
    const hash = createHash("sha256").update("of-nobody").digest("hex");
    const environment = {
      INGRESS_TOKEN: "of-nobody",
      VEDETTE_CONTROL__OPERATORS__ALICE: hash,
      VEDETTE_CONTROL__OPERATORS__BOB: "ab".repeat(32),
      VEDETTE_CONTROL__OPERATORS__CEM: "ab".repeat(32),
    };

    const lines = faultsOf(() => readConfig({ environment })).sort();

    expect(lines).toEqual([
      expect.stringMatching(
        /^control\.operators\.alice: is the ingress token .*INGRESS_TOKEN of the environment/,
      ),
      expect.stringMatching(/^control\.operators\.cem: is the token of another operator/),
    ]);
  });

  it("says what is wrong with an operator", () => {
    const environment = {
      VEDETTE_CONTROL__OPERATORS__ALICE: "hunter2",
      VEDETTE_CONTROL__OPERATORS__BOB__TOKEN: "ab".repeat(32),
      VEDETTE_CONTROL__OPERATORS__BOB__ROLES: "admin",
      "VEDETTE_CONTROL__OPERATORS__INGRESS-TOKEN": "ab".repeat(32),
    };

    const lines = faultsOf(() => readConfig({ environment })).sort();

    expect(lines).toEqual([
      "control.operators.alice.token: must be the SHA-256 of a token: 64 hex digits",
      `control.operators.bob.roles.0: expected one of "read", "operate", "approve", "notify", "configure", got 'admin'`,
      expect.stringMatching(/^control\.operators\.ingress-token: is the name of the ingress token/),
    ]);
  });

  it.each(["", "sha256:"])("refuses an operator whose token was empty as %jhash", (prefix) => {
    const environment = {
      INGRESS_TOKEN: "a-token-of-the-settings",
      VEDETTE_CONTROL__OPERATORS__ALICE: prefix + createHash("sha256").digest("hex").toUpperCase(),
    };

    expect(faultsOf(() => readConfig({ environment }))).toEqual([
      expect.stringMatching(/^control\.operators\.alice\.token: is the SHA-256 of an empty token/),
    ]);
  });

  it("reports all faults together, each with its setting", () => {
    const environment = {
      VEDETTE_CONTROL__PORT: "banana",
      VEDETTE_FLEET__DRIVER: "raft",
      VEDETTE_ROLLOUT__MAX_PARALLEL: "0",
      VEDETTE_FLEET__SIZE: "3",
    };

    const lines = faultsOf(() => readConfig({ environment }));

    expect(lines).toEqual([
      "control.port: expected a whole number from 0 to 65535, got 'banana'",
      `fleet.driver: expected one of "process", "http", "docker", "kubernetes", got 'raft'`,
      'fleet: unknown name "size"',
      "rollout.max_parallel: expected a whole number from 1 to 500, got 0",
    ]);
  });

  it.each([
    "VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL",
    "VEDETTE_INCIDENT__URL",
    "VEDETTE_RESTATE__INGRESS_URL",
    "CLICKHOUSE_URL",
    "REDIS_URL",
    "VEDETTE_CONTROL__OPERATORS",
    "VEDETTE_CONTROL__OIDC__ISSUER",
    "VEDETTE_CONTROL__OPERATORS__ALICE",
  ])("never shows a value of %s, which may be a secret", (name) => {
    const lines = faultsOf(() => readConfig({ environment: { [name]: "no-url-but-secret" } }));

    expect(lines.join()).not.toContain("secret");
  });

  it("says so when the named file does not exist", () => {
    expect(() => readConfig({ file: "/nowhere/vedette.toml", environment: {} })).toThrow(
      "config file /nowhere/vedette.toml does not exist",
    );
  });

  it("says where the file is no TOML, without quoting it", () => {
    const file = writeToml('[api]\nroot_key = "secret\\q"\n');

    const lines = faultsOf(() => readConfig({ file, environment: {} }));

    expect(lines).toEqual([`config file ${file}, line 2, column 20: unrecognised escape sequence`]);
  });

  it.each([
    [{ VEDETTE_FLEET__DRIVER: "http" }, "fleet.http.url"],
    [{ VEDETTE_RESTATE__INGRESS_URL: "http://restate:8080" }, "admin_url"],
  ])("refuses settings that do not make sense together: %j", (environment, named) => {
    expect(faultsOf(() => readConfig({ environment })).join()).toContain(named);
  });
});

function faultsOf(action: () => unknown): string[] {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message.split("\n");
  }
  throw new Error("nothing was refused");
}
