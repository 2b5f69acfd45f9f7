/** Commands in a folder that somebody else has prepared with links: nothing is written through them. */
import { once } from "node:events";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { replaceFile, writeFileAtomically } from "#kernel/files.ts";
import { runVedette } from "../../support/program/command.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

/** `theirs`: a file that the stranger reads. */
function prepareFolder() {
  const dir = makeTempDir();
  onTestFinished(() => dir.remove());
  const theirs = path.join(dir.path, "theirs.txt");
  writeFileSync(theirs, "before");
  const data = path.join(dir.path, ".vedette");
  mkdirSync(data);
  return { folder: dir.path, data, theirs };
}

it("the page that opens the console is written to no file of whoever has made the folder", async () => {
  const { folder, data, theirs } = prepareFolder();
  // The command is one of the next processes of this machine.
  for (let pid = process.pid; pid < process.pid + 20_000; pid += 1) {
    symlinkSync(theirs, path.join(data, `console.html.${pid}.new`));
  }
  writeFileSync(path.join(folder, "xdg-open"), "#!/bin/sh\n", { mode: 0o755 });
  const ticket = "A".repeat(22);
  const answer = JSON.stringify({ public_url: "", ticket, provider: null });
  const control = createServer((_, response) => response.end(answer));
  await once(control.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void control.close());
  const url = `http://127.0.0.1:${(control.address() as AddressInfo).port}`;

  const { stderr } = await runVedette(
    ["console", "--open"],
    { PATH: folder, VEDETTE_CONTROL_URL: url, INGRESS_TOKEN: "of-the-user" },
    folder,
  );

  expect(stderr).toContain("signs in once");
  const page = path.join(data, "console.html");
  expect(readFileSync(page, "utf8")).toContain(ticket);
  expect(lstatSync(page)).toMatchObject({ mode: 0o100600 });
  expect(readFileSync(theirs, "utf8")).toBe("before");
});

it("a file is replaced, and neither a link in its place nor one in that of its draft is followed", () => {
  const { data, theirs } = prepareFolder();
  const file = path.join(data, "saved.json");
  symlinkSync(theirs, file);
  symlinkSync(theirs, `${file}.${process.pid}.new`);

  writeFileAtomically(file, "ours");

  expect([readFileSync(file, "utf8"), readFileSync(theirs, "utf8")]).toEqual(["ours", "before"]);
  expect(lstatSync(file).isSymbolicLink()).toBe(false);
  expect(readdirSync(data)).toEqual(["saved.json"]);
});

it("a draft that becomes a link while it is checked lends no file of the user's its mode", async () => {
  const { folder } = prepareFolder();
  const ours = path.join(folder, "key.pem");
  writeFileSync(ours, "of the user", { mode: 0o600 });
  const file = path.join(folder, "vedette.config.ts");
  writeFileSync(file, "before", { mode: 0o666 });
  const exchange = async (draft: string) => {
    rmSync(draft);
    symlinkSync(ours, draft);
    return true;
  };

  await replaceFile({ file, text: "after" }, exchange);

  expect(statSync(ours)).toMatchObject({ mode: 0o100600 });
});
