import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { writeAlertmanagerYaml } from "#routing/alertmanager/export.ts";
import { bringInStep, compare, type SyncOrder } from "#routing/alertmanager/keep.ts";
import { hashConfig } from "#routing/alertmanager/running.ts";
import { aSending } from "../../support/alertmanager.ts";
import { aRoute } from "../../support/route-rows.ts";
import { tempDir } from "../../support/temp-dir.ts";

const wanted = writeAlertmanagerYaml([aSending()], [aRoute()]);
const old = writeAlertmanagerYaml([aSending()], []);

/** An alert manager that works with `old`, its file, and a reload that takes what `accepts` does. */
function aManager(over: { accepts?: (text: string) => boolean; text?: string | null } = {}) {
  const { accepts = () => true, text = old } = over;
  const file = path.join(tempDir(), "alertmanager.yml");
  if (text !== null) writeFileSync(file, text);
  let works = text ?? "";
  let isLastReloadGood = true;
  const reloads: string[] = [];
  const bringing: SyncOrder = {
    wanted,
    file,
    running: {
      readState: async () => ({ configHash: hashConfig(works), isLastReloadGood }),
      reload: async () => {},
    },
    reload: async () => {
      const read = readFileSync(file, "utf8");
      reloads.push(read);
      isLastReloadGood = accepts(read);
      if (!isLastReloadGood) throw new Error("it does not take its configuration");
      works = read;
    },
    withinMs: 200,
  };
  return { bringing, file, reloads, works: () => works };
}

describe("how an alert manager stands", () => {
  it("is in step when its file and what runs are as the routes have them", async () => {
    const { bringing } = aManager({ text: wanted });

    expect(await compare(bringing)).toEqual({ changes: [], running: "in_step", isInStep: true });
  });

  it("is not in step when it works with another configuration than its file's", async () => {
    const { bringing, file } = aManager();
    writeFileSync(file, wanted);

    expect(await compare(bringing)).toMatchObject({
      changes: [],
      running: "not_reloaded",
      isInStep: false,
    });
  });

  it("is told by the file alone where nobody can be asked", async () => {
    const { bringing } = aManager({ text: wanted });

    const standing = await compare({ ...bringing, running: undefined });

    expect(standing).toEqual({ changes: [], running: "not_asked", isInStep: true });
  });

  it("is told by what runs alone where the file is kept elsewhere", async () => {
    const { bringing } = aManager({ text: wanted });

    expect(await compare({ ...bringing, file: "" })).toMatchObject({ isInStep: true });
    expect(await compare({ ...bringing, file: "", wanted: old })).toMatchObject({
      running: "not_reloaded",
    });
  });

  it("is unknown when it does not answer", async () => {
    const { bringing } = aManager({ text: wanted });
    const readState = async () => Promise.reject(new Error("not reached"));

    const standing = await compare({ ...bringing, running: { readState, reload: readState } });

    expect(standing).toMatchObject({ running: "unknown", reason: "not reached", isInStep: false });
  });

  it("is refused when it does not take what it was last told to read", async () => {
    const { bringing } = aManager({ text: wanted, accepts: () => false });
    await bringing.reload().catch(() => {});

    expect(await compare(bringing)).toMatchObject({ running: "refused", isInStep: false });
  });

  it("does not quote a file that is no YAML", async () => {
    const { bringing } = aManager({ text: "s3cret: [" });

    await expect(compare(bringing)).rejects.toThrow("is no YAML; put it right or remove it");
  });
});

describe("bringing it in step", () => {
  it("writes the file, and has it read", async () => {
    const { bringing, works } = aManager();

    expect(await bringInStep(bringing)).toMatchObject({ outcome: "written", isConfirmed: true });
    expect(works()).toBe(wanted);
  });

  it("does nothing when it is in step", async () => {
    const { bringing, reloads } = aManager({ text: wanted });

    expect(await bringInStep(bringing)).toMatchObject({ outcome: "in_step" });
    expect(reloads).toEqual([]);
  });

  it("leaves comments where only the reload is missing", async () => {
    const { bringing, file, works } = aManager();
    writeFileSync(file, `# mine\n${wanted}`);

    expect(await bringInStep(bringing)).toMatchObject({ outcome: "reloaded" });
    expect(works()).toBe(`# mine\n${wanted}`);
  });

  it("puts the old file back when it is not taken", async () => {
    const { bringing, file, reloads } = aManager({ accepts: (text) => text === old });

    await expect(bringInStep(bringing)).rejects.toThrow("the old configuration is back in place");
    expect(readFileSync(file, "utf8")).toBe(old);
    expect(reloads).toEqual([wanted, old]);
  });

  it("puts the old file back when it never works with the new one", async () => {
    const { bringing, file } = aManager();

    await expect(bringInStep({ ...bringing, reload: async () => {} })).rejects.toThrow(
      "is config_file the file that it reads?; the old configuration is back in place",
    );
    expect(readFileSync(file, "utf8")).toBe(old);
  });

  it("leaves no file where none was", async () => {
    const { bringing, file } = aManager({ accepts: () => false, text: null });

    await expect(bringInStep(bringing)).rejects.toThrow();
    expect(existsSync(file)).toBe(false);
  });

  it("says so when nobody can ask whether it works with it", async () => {
    const { bringing } = aManager();

    const brought = await bringInStep({ ...bringing, running: undefined });

    expect(brought).toMatchObject({ outcome: "written", isConfirmed: false });
  });
});
