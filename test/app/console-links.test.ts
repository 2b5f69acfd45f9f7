import { hostname } from "node:os";
import { expect, it } from "vitest";
import { createConsoleLinks } from "#app/console-links.ts";

const page = "/console/checks/verify-key";

const links = (over: { host?: string; port?: number; public?: string; alerts?: string }) =>
  createConsoleLinks({
    alerts: { console_url: over.alerts ?? "" },
    control: {
      host: over.host ?? "127.0.0.1",
      port: over.port ?? 7071,
      public_url: over.public ?? "",
    },
  });

it.each([
  [{}, `http://127.0.0.1:7071${page}`],
  [{ host: "::1" }, `http://[::1]:7071${page}`],
  [{ host: "0.0.0.0" }, `http://${hostname()}:7071${page}`],
  [{ public: "https://vedette.example.com" }, `https://vedette.example.com${page}`],
  [
    { public: "https://a.example.com", alerts: "https://b.example.com" },
    `https://b.example.com${page}`,
  ],
  [{ alerts: "https://b.example.com/console" }, `https://b.example.com${page}`],
  [{ alerts: "https://b.example.com/tools/vedette" }, `https://b.example.com/tools/vedette${page}`],
])("links to the page of a check with the settings %o", (settings, link) => {
  expect(links(settings).to.check("verify-key")).toBe(link);
});

it("links to the actual port when the settings leave it open", () => {
  const { to, setControl } = links({ port: 0 });

  const before = to.check("verify-key");
  setControl("http://127.0.0.1:40123");

  expect(before).toBeUndefined();
  expect(to.check("verify-key")).toBe(`http://127.0.0.1:40123${page}`);
});

it("a link uses the address of the settings, wherever control listens", () => {
  const { to, setControl } = links({ public: "https://vedette.example.com" });

  setControl("http://127.0.0.1:40123");

  expect(to.check("verify-key")).toBe(`https://vedette.example.com${page}`);
});

it("links to the page of a rollout, in its fleet", () => {
  const { to } = links({ public: "https://vedette.example.com" });

  expect(to.rollout({ rolloutId: "r-7", fleet: "staging" })).toBe(
    "https://vedette.example.com/console/history/r-7?fleet=staging",
  );
});
