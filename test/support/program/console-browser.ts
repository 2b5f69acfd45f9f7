/** The console of a whole program over a fleet of ours, in a real browser. */
import axe from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { freePort } from "../free-port.ts";
import { type FakeFleet, startFakeFleet } from "../rollout/fake-fleet.ts";
import { openPage } from "../servers/browser.ts";
import { type Program, startProgram } from "./program.ts";

type FleetOptions = Parameters<typeof startFakeFleet>[0];

export type ConsoleProgram = {
  fleet: FakeFleet;
  program: Program;
  stop: () => Promise<void>;
  /** A page that is signed in and shows this path of the console. */
  open: (path?: string, options?: BrowserContextOptions) => ReturnType<typeof openConsole>;
};

export async function startConsoleProgram(
  options: FleetOptions,
  environment: Record<string, string> = {},
): Promise<ConsoleProgram> {
  const fleet = await startFakeFleet(options);
  const program = await startProgram({
    ...fleet.environment(),
    // The same one after a restart, so that a page which is open finds the program again.
    VEDETTE_CONTROL__PORT: String(await freePort()),
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
    ...environment,
  });
  return {
    fleet,
    program,
    stop: async () => {
      await program.dispose();
      await fleet.stop();
    },
    open: (path = "", options = {}) => openConsole(program, path, options),
  };
}

export async function openConsole(program: Program, path: string, options: BrowserContextOptions) {
  const opened = await openPage(options);
  const { page } = opened;
  const address = `${program.endpoints().control}/console`;
  await page.goto(address);
  await signIn(page, program.token());
  if (path !== "") await page.goto(`${address}${path}`);
  return { ...opened, address };
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

/** Starts a rollout: from the form over the plan to the confirmation. */
export async function start(
  page: Page,
  name: string,
  waves = "10, 50, 100",
  fillMore: () => Promise<void> = async () => {},
): Promise<void> {
  await page.getByRole("link", { name: "New rollout…" }).click();
  await page.getByLabel("Image").fill(name);
  await page.getByLabel("Waves").fill(waves);
  await fillMore();
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByRole("button", { name: "Start this rollout…" }).click();
  await page.getByRole("button", { name: "Start the rollout" }).click();
}

/** Answers the words of the confirmation, which may want a reason. */
export async function confirm(
  page: Page,
  button: string | RegExp,
  verb: string | RegExp,
  { reason }: { reason?: string } = {},
): Promise<string> {
  await page.getByRole("button", { name: button }).click();
  const dialog = page.getByRole("dialog");
  const words = (await dialog.textContent()) ?? "";
  if (reason !== undefined) await dialog.getByLabel("Reason").fill(reason);
  await dialog.getByRole("button", { name: verb }).click();
  return words;
}

/** Until the page has this title. */
export const heading = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole("heading", { level: 1, name }).waitFor();

/** What axe finds wrong with the page from its start on, one line each: its header covers what is scrolled below it. */
export async function findBarriers(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(axe.source);
  await page.evaluate("scrollTo(0, 0)");
  const values = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const runOnly: axe.RunOnly = rules ? { type: "rule", values: rules } : { type: "tag", values };
  const options: axe.RunOptions = { runOnly };
  const question = `axe.run(document, ${JSON.stringify(options)})`;
  const { violations } = (await page.evaluate(question)) as axe.AxeResults;
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
