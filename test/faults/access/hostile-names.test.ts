/** Texts of fleets, definitions and operators with markup, and names of objects' own members, in a real browser. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { emptySet } from "#definitions/rows/contract.ts";
import { openConsole } from "../../support/program/console-browser.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

const markup = `"'><img src=x onerror=alert(1)><a href=javascript:alert(1)>x</a>`;
const regions: Record<string, string> = { eu: markup, us: "__proto__", ap: "constructor" };

let fleet: FakeFleet;
let program: Program;

/** The fleet, with other names of its regions. */
const renaming = createServer(async (request, response) => {
  const { method = "", headers, url = "" } = request;
  const { authorization = "", "content-type": type = "" } = headers;
  const body = method === "GET" ? {} : { body: await text(request) };
  const asked = { method, headers: { authorization, "content-type": type }, ...body };
  const answer = await fetch(`${fleet.environment()["VEDETTE_FLEET__HTTP__URL"]}${url}`, asked);
  const said = (await answer.text()).replaceAll(
    /"region":"(\w+)"/g,
    (_all, region: string) => `"region":${JSON.stringify(regions[region])}`,
  );
  response.writeHead(answer.status, { "content-type": "application/json" }).end(said);
});

beforeAll(async () => {
  if (!hasBrowser) return;
  const behave = () => ({ failAfterMs: 0, reason: markup });
  fleet = await startFakeFleet({ size: 6, behave });
  await new Promise<void>((resolve) => renaming.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(renaming.address() as AddressInfo).port}`;
  program = await startProgram({
    ...fleet.environment(),
    VEDETTE_FLEET__HTTP__URL: url,
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
  });
  const check = { id: "constructor", name: markup, environment: "staging", channels: [], url };
  const checks = [{ ...check, frequencySeconds: 10 }];
  const pin = { id: "constructor", ids: ["gw-0001"], reason: markup };
  const definitions = { ...emptySet, checks };
  const applied = await program.post("vedette.v1.Definitions/singleton/Apply", { definitions });
  const pinned = await program.post("vedette.v1.RolloutPins/Add", pin);
  const rollout = await program.call("Rollout", { image: "r.example/a/constructor:v2" });
  expect([applied.status, pinned.status, rollout.status]).toEqual([200, 200, 200]);
});

afterAll(async () => {
  await program?.dispose();
  await fleet?.stop();
  renaming.closeAllConnections();
  renaming.close();
});

/** With something that each shows. */
const pages: [path: string, shown: string][] = [
  ["", markup],
  ["/fleet", "constructor"],
  ["/fleet/gw-0002", markup],
  ["/checks", markup],
  ["/checks/constructor", markup],
  ["/pins", markup],
  ["/history", "r.example/a/constructor:v2"],
  ["/checks/__proto__", "__proto__"],
  ["/history/__proto__", "__proto__"],
  [`/${encodeURIComponent(markup)}`, "Page not found"],
  ["//x.example/", "Page not found"],
  ["?fleet=__proto__", markup],
];

it.skipIf(!hasBrowser)("markup is text on every page, and no name breaks one", async () => {
  const { page, complaints, requests, address } = await openConsole(program, "", {});
  const ran: string[] = [];
  page.on("dialog", (dialog) => {
    ran.push(dialog.message());
    void dialog.dismiss();
  });
  for (const [path, shown] of pages) {
    await page.goto(`${address}${path}`);
    await page.locator("main").getByText(shown, { exact: false }).first().waitFor();
    const made = page.locator('main img, [onerror], a[href^="javascript" i]');
    expect([path, await made.count()]).toEqual([path, 0]);
  }

  expect(ran).toEqual([]);
  expect(requests.filter((url) => !url.startsWith(address))).toEqual([]);
  expect(complaints.filter((one) => !/status of 40[14]/.test(one))).toEqual([]);
});
