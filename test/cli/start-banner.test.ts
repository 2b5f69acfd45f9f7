/** What a start prints: where things are, with a link on a terminal and without one in a log. */
import { expect, it } from "vitest";
import { bannerLines, type Ready, readyFields } from "#cli/start.ts";

const endpoints = {
  api: "http://127.0.0.1:7070",
  control: "http://127.0.0.1:7071",
  restate_admin: "http://127.0.0.1:9470",
  pid: 1,
};
const ready: Ready = { endpoints, dataDir: "/data", publicUrl: "", isFleetLocal: true };
const ticket = "AAAAAAAAAAAAAAAAAAAAAA";

it("the banner names the credentials and the API's reference, and last the console by a link with the ticket", () => {
  const lines = bannerLines(ready, ticket);

  expect(lines.join("\n")).toBe(`
  Vedette is ready.
    Public API   http://127.0.0.1:7070/docs
    Credentials  /data/credentials.json
    Addresses    /data/endpoints.json

  Try a rollout:
    npx vedette rollout start registry.example.com/vedette/sentinel:v2 --wait

  The link signs in once, within 5 minutes; a new one: npx vedette console
    Console      http://127.0.0.1:7071/console#ticket=AAAAAAAAAAAAAAAAAAAAAA
`);
});

it("the banner names the plain address without a ticket", () => {
  const text = bannerLines(ready).join("\n");

  expect(text).toContain("\n    Console      http://127.0.0.1:7071/console\n");
});

it.each([
  { publicUrl: "https://ops.example.com", address: "https://ops.example.com/console" },
  { publicUrl: "https://ops.example.com/console", address: "https://ops.example.com/console" },
])("leads browsers to control.public_url $publicUrl", ({ publicUrl, address }) => {
  const lines = bannerLines({ ...ready, publicUrl }, ticket);

  expect(lines).toContain(`    Console      ${address}#ticket=${ticket}`);
});

it("the banner has no console and no rollout to try in a process without the gateway", () => {
  const text = bannerLines({ ...ready, endpoints: { pid: 1 } }).join("\n");

  expect(text).not.toMatch(/Console|Public API|rollout/);
  expect(text).toContain("/data/endpoints.json");
});

it("the banner has no rollout to try on a fleet of the user's own, which has other images", () => {
  const own = { ...ready, isFleetLocal: false };

  expect(bannerLines(own).join("\n")).not.toContain("rollout");
  expect(readyFields(own)).not.toHaveProperty("try");
});

it("a log gets every address, and the plain one of the console", () => {
  expect(readyFields(ready)).toEqual({
    ...endpoints,
    console: "http://127.0.0.1:7071/console",
    docs: "http://127.0.0.1:7070/docs",
    credentials: "/data/credentials.json",
    try: expect.stringContaining("rollout start"),
  });
});

it("a start says why no alert leaves the program yet, on a terminal and in a log", () => {
  const nobody = "incident.url is not set";
  const words = "No alert leaves this program yet: incident.url is not set.";

  expect(bannerLines({ ...ready, nobody }).join("\n")).toContain(words);
  expect(readyFields({ ...ready, nobody })).toHaveProperty(
    "alerts",
    expect.stringContaining(words),
  );
});
