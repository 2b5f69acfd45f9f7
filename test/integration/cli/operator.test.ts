import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

const run = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

const runJson = async (...args: string[]) => {
  const { stdout } = await run(...args, "--json");
  return JSON.parse(stdout);
};

describe("vedette workspace", () => {
  it("creates a workspace, and lists it with its limits", async () => {
    const { stdout } = await run("workspace", "create", "Acme");
    const id = stdout.trim();

    await run("workspace", "set-limit", id, "--per-minute", "600");
    await run("workspace", "set-quota", id, "--per-month", "150000");
    await run("workspace", "disable", id);

    const { workspaces } = await runJson("workspace", "list");
    expect(workspaces).toContainEqual({
      id,
      name: "Acme",
      enabled: false,
      requestsPerMinute: 600,
      monthlyQuota: 150_000,
      keys: 0,
    });
  });

  it("removes a limit again", async () => {
    const { id } = await runJson("workspace", "create", "Free");
    await run("workspace", "set-limit", id, "--per-minute", "600");

    await run("workspace", "set-limit", id, "--per-minute", "none");

    const { workspaces } = await runJson("workspace", "list");
    expect(workspaces.find((one: { id: string }) => one.id === id).requestsPerMinute).toBeNull();
  });

  it("says in one line that there is no such workspace", async () => {
    const { code, stderr } = await run("workspace", "enable", "ws_none");

    expect(code).toBe(1);
    expect(stderr).toBe("vedette: there is no workspace ws_none\n");
  });

  it("says in one line that no program runs there", async () => {
    const { code, stderr } = await runVedette(["workspace", "list"], {
      VEDETTE_DATA_DIR: tempDir(),
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(/^vedette: no Vedette runs on \S+: start one with .*\n$/);
  });
});

describe("vedette keys create-root", () => {
  it("prints the key alone on stdout, and what it is on stderr", async () => {
    const made = await run("keys", "create-root", "--workspace", "ws_default", "--expires", "90d");

    expect(made.code).toBe(0);
    expect(made.stdout).toMatch(/^vedette_root_[\w-]{43}\n$/);
    expect(made.stderr).toMatch(/^key_\w+ for ws_default, until .*\. It is not shown again\.\n$/);
  });

  it("writes the key to no log and no file of the program", async () => {
    const { key, key_id } = await runJson("keys", "create-root", "--workspace", "ws_default");

    expect(key_id).toMatch(/^key_/);
    expect(program.output()).not.toContain(key);
  });

  it.each([
    ["an unknown workspace", ["--workspace", "ws_none"], "there is no workspace ws_none"],
    [
      "a time that is over",
      ["--workspace", "ws_default", "--expires", "2020-01-01"],
      "in the future",
    ],
    ["a permission with a blank", ["--workspace", "ws_default", "--permissions", "a b"], "names"],
  ])("refuses %s", async (_, args, complaint) => {
    const { code, stderr, stdout } = await run("keys", "create-root", ...args);

    expect(code).toBe(1);
    expect(stderr).toContain(complaint);
    expect(stdout).toBe("");
  });
});

describe("the keys that a program makes for itself", () => {
  const credentials = () =>
    JSON.parse(readFileSync(path.join(program.dataDir, "credentials.json"), "utf8"));

  it("are one with all permissions, one for the gateways that only verifies, and one for the checks", async () => {
    const { root_keys } = await runJson("root-keys", "list");

    const own = root_keys.filter((one: { origin: string }) => one.origin !== "operator");
    expect(own.map((one: Record<string, unknown>) => [one["origin"], one["permissions"]])).toEqual(
      expect.arrayContaining([
        ["generated", ["*"]],
        ["sentinels", ["api.*.verify_key"]],
        ["checks", ["api.*.verify_key", expect.stringMatching(/^ratelimit\.rlns_\w+\.limit$/)]],
      ]),
    );
    expect(own).toHaveLength(3);
  });

  it.skipIf(process.platform !== "linux")("leave a gateway without the root key", () => {
    const file = path.join(program.dataDir, "sentinels", "sentinel-01.json");
    const { pid } = JSON.parse(readFileSync(file, "utf8")).serving;

    const environment = readFileSync(`/proc/${pid}/environ`, "utf8");

    expect(environment).toContain(credentials().sentinel_key);
    expect(environment).not.toContain(credentials().root_key);
  });

  it.each([
    ["generated", "root_key"],
    ["checks", "check_key"],
  ])("are saved to the same file when the one of %s is rotated", async (from, name) => {
    const { root_keys } = await runJson("root-keys", "list");
    const own = root_keys.find((one: { origin: string }) => one.origin === from);

    const rotated = await runJson("root-keys", "rotate", own.key_id, "--grace", "1h");

    expect(rotated.kept_as).toBe(name);
    expect(credentials()[name]).toBe(rotated.key);
  });

  it("are printed even when their file cannot be changed", async () => {
    const { root_keys } = await runJson("root-keys", "list");
    const own = root_keys.find((one: { origin: string }) => one.origin === "sentinels");
    const file = path.join(program.dataDir, "credentials.json");
    const whole = readFileSync(file, "utf8");
    writeFileSync(file, JSON.stringify({ ...credentials(), ingress_token: "" }));

    const rotated = await run("root-keys", "rotate", own.key_id, "--grace", "1h");

    writeFileSync(file, whole);
    expect(rotated.code).toBe(1);
    expect(rotated.stdout).toMatch(/^vedette_root_[\w-]{43}\n$/);
    expect(rotated.stderr).toMatch(/vedette: .*credentials\.json is damaged/);
  });
});

it("a rotated root key inherits the expiry of the old one", async () => {
  const order = ["--workspace", "ws_default", "--name", "ending", "--expires", "90d"];
  const made = await runJson("keys", "create-root", ...order);

  const first = await runJson("root-keys", "rotate", made.key_id, "--grace", "1h");
  const second = await runJson("root-keys", "rotate", first.key_id);

  const { root_keys } = await runJson("root-keys", "list");
  const { expires_at } = root_keys.find((one: { key_id: string }) => one.key_id === second.key_id);
  expect(expires_at).toBe(made.expires_at);
});

describe("vedette audit list", () => {
  it("lists what an operator did, page by page", async () => {
    const { id } = await runJson("workspace", "create", "Audited");
    await run("workspace", "disable", id);

    const first = await runJson("audit", "list", "--workspace", id, "--limit", "1");
    const second = await runJson("audit", "list", "--workspace", id, "--cursor", first.next_cursor);

    expect(first.entries).toMatchObject([{ event: "workspace.update", workspace_id: id }]);
    expect(second.entries).toMatchObject([{ event: "workspace.create" }]);
    expect(second.next_cursor).toBeNull();
    expect(first.entries[0].actor.id).toMatch(/^operator:/);
  });

  it("prints a table, and refuses an invalid time", async () => {
    const listed = await run("audit", "list", "--event", "workspace.*", "--since", "1h");
    const refused = await run("audit", "list", "--since", "yesterday");

    expect(listed.stdout).toContain("workspace.create");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("a span back from now");
  });
});

describe("vedette keys and apis", () => {
  const rootKey = async () =>
    (await runJson("keys", "create-root", "--workspace", "ws_default")).key as string;

  const call = async (key: string, procedure: string, body: object) => {
    const answer = await fetch(`${program.endpoints().api}/v2/${procedure}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { data: Record<string, string>; error?: { status: number } };
  };

  it("limit where an API's keys may be used, within a second", async () => {
    const root = await rootKey();
    const { apiId } = (await call(root, "apis.createApi", { name: "payments" })).data;
    const { key } = (await call(root, "keys.createKey", { apiId })).data;
    const code = async () => (await call(root, "keys.verifyKey", { key })).data["code"];
    expect(await code()).toBe("VALID");

    await run("apis", "set", String(apiId), "--ip-allowlist", "203.0.113.0/24");
    await waitFor(async () => (await code()) === "FORBIDDEN", {
      withinMs: 1_000,
      what: "the allow-list to hold",
    });
    await run("apis", "set", String(apiId), "--ip-allowlist", "none", "--delete-protection", "on");

    await waitFor(async () => (await code()) === "VALID", { withinMs: 1_000, what: "VALID again" });
    expect((await call(root, "apis.deleteApi", { apiId })).error?.status).toBe(412);
  });

  it("create a migration that can import keys", async () => {
    const root = await rootKey();
    const { apiId } = (await call(root, "apis.createApi", { name: "imports" })).data;

    await run("keys", "create-migration", "from_old", "--workspace", "ws_default");

    const keys = [{ hash: "0".repeat(64), enabled: true }];
    const { data } = await call(root, "keys.migrateKeys", { migrationId: "from_old", apiId, keys });
    expect(data["failed"]).toEqual([]);
  });

  it.each([
    [["apis", "set", "api_none", "--delete-protection", "on"], "there is no API api_none"],
    [["apis", "set", "api_none"], "nothing to set"],
    [["apis", "set", "api_none", "--ip-allowlist", "10.0.0.0/99"], "203.0.113.7,10.0.0.0/8"],
    [["keys", "create-migration", "m", "--workspace", "ws_none"], "there is no workspace ws_none"],
  ])("%j is refused in one line", async (args, complaint) => {
    const { code, stderr } = await run(...args);

    expect(code).toBe(1);
    expect(stderr).toContain(complaint);
  });

  it("seal nothing again when nothing was sealed with another key", async () => {
    expect(await runJson("keys", "reseal")).toEqual({ resealed: 0, unopened: 0 });
  });
});

describe("vedette cron", () => {
  it("lists every job with its schedule and next run", async () => {
    const { jobs } = await runJson("cron", "list");

    expect(jobs).toContainEqual({
      job: "key-refill",
      schedule: "every day at 00:00 UTC",
      next_at: expect.stringMatching(/T00:00:00\.000Z$/),
    });
  });

  it("runs a job and says what it did", async () => {
    const { code, stdout } = await run("cron", "run", "key-refill");

    expect(code).toBe(0);
    expect(stdout).toBe("succeeded: 0 keys refilled\n");
  });

  it("lists who ran a job", async () => {
    // Not one that its timer may run again meanwhile.
    await run("cron", "run", "key-refill");

    const listed = async () => (await run("cron", "list")).stdout;

    await expect
      .poll(listed)
      .toMatch(/key-refill .* the ingress token \(no operator\) .* succeeded/);
  });

  it("refuses a job that is off", async () => {
    const { code, stderr } = await run("cron", "run", "certificate-renewal");

    expect(code).toBe(1);
    expect(stderr).toBe("vedette: certificate-renewal is off by the settings\n");
  });
});

describe("GET /metrics", () => {
  it("has metrics of the process, its dependencies and its jobs", async () => {
    const answer = await fetch(`${program.endpoints().metrics}/metrics`);

    const text = await answer.text();
    expect(text).toContain('vedette_dependency_up{dependency="postgres"} 1');
    expect(text).toContain("process_resident_memory_bytes");
    expect(text).toContain('vedette_build_info{version="');
  });
});
