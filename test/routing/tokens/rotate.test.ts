import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type RotationParts, rotate, type Webhook } from "#routing/tokens/rotate.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** Two senders with the token `old`, a service that has `new`, and what was done in order. */
function aRotation(over: Partial<RotationParts> = {}) {
  const directory = tempDir();
  const webhooks = ["alertmanager", "synthetic"].map(
    (source): Webhook => ({ source, file: path.join(directory, source) }),
  );
  for (const { file } of webhooks) writeFileSync(file, "old");
  const done: string[] = [];
  const files = () => webhooks.map(({ file }) => readFileSync(file, "utf8"));
  const parts: RotationParts = {
    readToken: async () => "new",
    sendTestEvent: async ({ source }, token) => void done.push(`test ${source} ${token}`),
    reload: async () => void done.push(`reload with ${files().join()}`),
    ...over,
  };
  return { webhooks, done, files, run: () => rotate(webhooks, parts) };
}

it("the rotation tries the tokens, writes them, reloads, and tries them again as written", async () => {
  const { run, done, files } = aRotation();

  const { webhooks } = await run();

  expect(files()).toEqual(["new", "new"]);
  expect(webhooks.map(({ outcome }) => outcome)).toEqual(["replaced", "replaced"]);
  expect(done).toEqual([
    "test alertmanager new",
    "test synthetic new",
    "reload with new,new",
    "test alertmanager new",
    "test synthetic new",
  ]);
});

it("the rotation says which tokens were in place already", async () => {
  const { run, webhooks } = aRotation();
  writeFileSync(webhooks[0]?.file ?? "", "new\n");

  const report = await run();

  expect(report.webhooks.map(({ outcome }) => outcome)).toEqual(["unchanged", "replaced"]);
});

it("reloads also when the files are in place: an earlier run may have ended before", async () => {
  const { run, done } = aRotation({ readToken: async () => "old" });

  await run();

  expect(done).toContain("reload with old,old");
});

describe("when something goes wrong", () => {
  it("changes nothing for a token that the service does not accept", async () => {
    const refuse = async ({ source }: Webhook) => {
      if (source === "synthetic") throw new Error("401");
    };
    const { run, done, files } = aRotation({ sendTestEvent: refuse });

    await expect(run()).rejects.toThrow("synthetic: 401; nothing was changed");
    expect(files()).toEqual(["old", "old"]);
    expect(done).toEqual([]);
  });

  it.each(["", "two words", "line\nend", "tök"])("writes no token %j", async (token) => {
    const { run, files } = aRotation({ readToken: async () => token });

    await expect(run()).rejects.toThrow("no header allows; nothing was changed");
    expect(files()).toEqual(["old", "old"]);
  });

  it("puts the old tokens back when the reload fails, and reloads them", async () => {
    const reloads: string[] = [];
    const reload = async () => {
      reloads.push(files().join());
      if (reloads.length === 1) throw new Error("ended with 1");
    };
    const { run, files } = aRotation({ reload });

    await expect(run()).rejects.toThrow("ended with 1; the old tokens are back in place");
    expect(files()).toEqual(["old", "old"]);
    expect(reloads).toEqual(["new,new", "old,old"]);
  });

  it("puts the old tokens back when an event is refused after the reload", async () => {
    let events = 0;
    const sendTestEvent = async () => {
      events += 1;
      if (events === 4) throw new Error("503");
    };
    const { run, files } = aRotation({ sendTestEvent });

    await expect(run()).rejects.toThrow("503; the old tokens are back in place");
    expect(files()).toEqual(["old", "old"]);
  });

  it("puts back what was written when a later file cannot be", async () => {
    const { run, webhooks } = aRotation({ reload: async () => {} });
    const [first, second] = webhooks as [Webhook, Webhook];
    second.file = path.join(second.file, "below", "a-file");

    await expect(run()).rejects.toThrow("is no directory; name another file; the old tokens are");
    expect(readFileSync(first.file, "utf8")).toBe("old");
  });

  it("leaves no file where none was", async () => {
    const { run, webhooks } = aRotation({ reload: async () => Promise.reject(new Error("no")) });
    const first = webhooks[0] as Webhook;
    first.file += ".new";

    await expect(run()).rejects.toThrow();
    expect(existsSync(first.file)).toBe(false);
  });

  it("says what it could not put back", async () => {
    const { run } = aRotation({ reload: async () => Promise.reject(new Error("ended with 1")) });

    await expect(run()).rejects.toThrow(
      "ended with 1; and not everything could be put back: ended with 1",
    );
  });

  it("gives the reload the secrets that it must not quote", async () => {
    let secrets: readonly string[] = [];
    const { run } = aRotation({
      reload: async (given) => {
        secrets = given;
      },
    });

    await run();

    expect(new Set(secrets)).toEqual(new Set(["old", "new"]));
  });
});
