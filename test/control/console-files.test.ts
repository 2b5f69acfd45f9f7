/** Requests for the console's files with unusual paths, without a session. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { servePages } from "#console/server/console.ts";
import { createControl } from "#control/control.ts";
import { createLog } from "#kernel/log.ts";
import { tempDir } from "../support/temp-dir.ts";

function startFiles() {
  const dir = tempDir();
  mkdirSync(path.join(dir, "assets"));
  writeFileSync(path.join(dir, "assets", "app.js"), "the script");
  return createControl({
    ingressUrl: "http://127.0.0.1:9",
    ingressToken: "t",
    log: createLog({ level: "silent", format: "json" }),
    console: () => (app) => servePages(app, { dir, html: "<!doctype html>the page" }),
  });
}

it.each(["", "..%2findex.html", "..%5cindex.html", "%00", "a%00.js", "nothing.js"])(
  "answers 404 for the file '%s'",
  async (name) => {
    const answer = await startFiles().inject({ url: `/console/assets/${name}` });

    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ status: 404, code: "not_found" });
    expect(answer.body).not.toContain("the page");
  },
);

it.each(["GET", "HEAD"] as const)("leads from / to the console, by %s", async (method) => {
  const answer = await startFiles().inject({ method, url: "/" });

  expect(answer.statusCode).toBe(302);
  expect(answer.headers.location).toBe("/console");
});

it("control refuses what else is sent to / as it refuses any caller without a token", async () => {
  const answer = await startFiles().inject({ method: "PUT", url: "/" });

  expect(answer.statusCode).toBe(401);
});

it("control serves the page and its files", async () => {
  const control = startFiles();

  expect((await control.inject({ url: "/console/assets/app.js" })).body).toBe("the script");
  expect((await control.inject({ url: "/console/checks" })).body).toContain("the page");
});
