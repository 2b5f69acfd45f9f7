/** `vedette console`: the console's address, with a ticket that signs in once where the caller has the ingress token. */
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { consoleUrlOf } from "#app/console-links.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, print, printJson } from "#cli/print.ts";
import { plain } from "#cli/table.ts";
import { dataDirOf, findTarget } from "#cli/target.ts";
import { ConsoleLink, consolePath, ticketMinutes } from "#console/contract.ts";
import { writeFileAtomically } from "#kernel/files.ts";
import { askControl, openBrowser } from "./by-browser.ts";

export async function printConsole(options: GlobalOptions & { open?: boolean }): Promise<number> {
  const { url, token } = findTarget(options, process.env);
  const question = { method: "POST", under: `${consolePath}/api`, path: "session/link" } as const;
  const link = await askControl(url, { ...question, body: { token } }, ConsoleLink);
  const { href } = new URL(consoleUrlOf(link.public_url || url));
  const address = link.ticket === null ? href : `${href}#ticket=${link.ticket}`;
  if (options.json) printJson({ url: address, signs_in: link.ticket !== null });
  else print(address);
  complain(describe(link));
  if (options.open !== true) return 0;
  const opened = link.ticket === null ? address : writePage(address, options);
  if (await openBrowser(opened)) return 0;
  complain("this machine cannot open a browser: open the address yourself");
  return 1;
}

function describe({ ticket, provider }: ConsoleLink): string {
  if (ticket !== null) return `signs in once, within ${ticketMinutes} minutes`;
  if (provider !== null) return `sign in there at ${plain(provider)}, or with a token`;
  return "sign in there with the token that this command has used";
}

/** A page of the owner's alone that leads to the address, which would otherwise be in the list of processes. */
function writePage(address: string, options: GlobalOptions): string {
  const dataDir = path.resolve(dataDirOf(options, process.env));
  // Browsers in a sandbox may not read the temporary directory, but do read what is below the home directory.
  const dir = existsSync(dataDir) ? dataDir : mkdtempSync(path.join(tmpdir(), "vedette-"));
  const file = path.join(dir, "console.html");
  const to = `<meta http-equiv="refresh" content="0;url=${address}">`;
  writeFileAtomically(file, `<!doctype html><meta charset="utf-8">${to}\n`);
  return file;
}
