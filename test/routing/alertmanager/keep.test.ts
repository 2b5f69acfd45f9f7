import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { writeAlertmanagerYaml } from "#routing/alertmanager/export.ts";
import { bringInStep, compare, type SyncOrder } from "#routing/alertmanager/keep.ts";
import { hashConfig } from "#routing/alertmanager/running.ts";
import { aRoute } from "../../support/routing/route-rows.ts";
import { aSending } from "../../support/servers/alertmanager.ts";
import { tempDir } from "../../support/temp-dir.ts";

const wanted = writeAlertmanagerYaml([aSending()], [aRoute()]);
const old = writeAlertmanagerYaml([aSending()], []);

/** An alert manager that runs `old`, its file, and a reload that accepts what `accepts` does. */
function aManager(over: { accepts?: (text: string) => boolean; text?: string | null } = {}) {
  const { accepts = () => true, text = old } = over;
  const file = path.join(tempDir(), "alertmanager.yml");
  if (text !== null) writeFileSync(file, text);
  let runs = text ?? "";
  let isLastReloadGood = true;
  const reloads: string[] = [];
  const order: SyncOrder = {
    wanted,
    file,
    running: {
      readState: async () => ({ configHash: hashConfig(runs), isLastReloadGood }),
      reload: async () => {},
    },
    reload: async () => {
      const read = readFileSync(file, "utf8");
      reloads.push(read);
      isLastReloadGood = accepts(read);
      if (!isLastReloadGood) throw new Error("it rejects its configuration");
      runs = read;
    },
    withinMs: 200,
  };
  return { order, file, reloads, runs: () => runs };
}

describe("the comparison of an alert manager", () => {
  it("is in step when its file and the running configuration match the routes", async () => {
    const { order } = aManager({ text: wanted });

    expect(await compare(order)).toEqual({ changes: [], running: "in_step", isInStep: true });
  });

  it("is not in step when it runs another configuration than its file's", async () => {
    const { order, file } = aManager();
    writeFileSync(file, wanted);

    expect(await compare(order)).toMatchObject({
      changes: [],
      running: "not_reloaded",
      isInStep: false,
    });
  });

  it("uses the file alone when no url is set", async () => {
    const { order } = aManager({ text: wanted });

    const comparison = await compare({ ...order, running: undefined });

    expect(comparison).toEqual({ changes: [], running: "not_asked", isInStep: true });
  });

  it("uses the running configuration alone when no file is set", async () => {
    const { order } = aManager({ text: wanted });

    expect(await compare({ ...order, file: "" })).toMatchObject({ isInStep: true });
    expect(await compare({ ...order, file: "", wanted: old })).toMatchObject({
      running: "not_reloaded",
    });
  });

  it("is unknown when the alert manager does not answer", async () => {
    const { order } = aManager({ text: wanted });
    const readState = async () => Promise.reject(new Error("not reached"));

    const comparison = await compare({ ...order, running: { readState, reload: readState } });

    expect(comparison).toMatchObject({
      running: "unknown",
      reason: "not reached",
      isInStep: false,
    });
  });

  it("is refused when the alert manager rejected its last reload", async () => {
    const { order } = aManager({ text: wanted, accepts: () => false });
    await order.reload().catch(() => {});

    expect(await compare(order)).toMatchObject({ running: "refused", isInStep: false });
  });

  it("does not quote a file that is no YAML", async () => {
    const { order } = aManager({ text: "s3cret: [" });

    await expect(compare(order)).rejects.toThrow("is no YAML; correct it or remove it");
  });
});

describe("bringing it in step", () => {
  it("writes the file, and has it read", async () => {
    const { order, runs } = aManager();

    expect(await bringInStep(order)).toMatchObject({ outcome: "written", isConfirmed: true });
    expect(runs()).toBe(wanted);
  });

  it("does nothing when it is in step", async () => {
    const { order, reloads } = aManager({ text: wanted });

    expect(await bringInStep(order)).toMatchObject({ outcome: "in_step" });
    expect(reloads).toEqual([]);
  });

  it("keeps comments where only the reload is missing", async () => {
    const { order, file, runs } = aManager();
    writeFileSync(file, `# mine\n${wanted}`);

    expect(await bringInStep(order)).toMatchObject({ outcome: "reloaded" });
    expect(runs()).toBe(`# mine\n${wanted}`);
  });

  it("puts the old file back when it is rejected", async () => {
    const { order, file, reloads } = aManager({ accepts: (text) => text === old });

    await expect(bringInStep(order)).rejects.toThrow("the old configuration is back in place");
    expect(readFileSync(file, "utf8")).toBe(old);
    expect(reloads).toEqual([wanted, old]);
  });

  it("puts the old file back when the new one never runs", async () => {
    const { order, file } = aManager();

    await expect(bringInStep({ ...order, reload: async () => {} })).rejects.toThrow(
      "is config_file the file that it reads?; the old configuration is back in place",
    );
    expect(readFileSync(file, "utf8")).toBe(old);
  });

  it("leaves no file where none was", async () => {
    const { order, file } = aManager({ accepts: () => false, text: null });

    await expect(bringInStep(order)).rejects.toThrow();
    expect(existsSync(file)).toBe(false);
  });

  it("says so when it cannot confirm that the new file runs", async () => {
    const { order } = aManager();

    const result = await bringInStep({ ...order, running: undefined });

    expect(result).toMatchObject({ outcome: "written", isConfirmed: false });
  });
});
