import { expect, it } from "vitest";
import { localPath } from "#console/server/provider-sign-in.ts";

it.each([
  ["/console", "/console"],
  ["/console/", "/console/"],
  ["/console/checks/liveness?from=1", "/console/checks/liveness?from=1"],
  ["/console/a/../checks", "/console/checks"],
])("%s leads to %s", (wanted, path) => {
  expect(localPath(wanted)).toBe(path);
});

it.each([
  "",
  "/",
  "console",
  "https://evil.example/console",
  "//evil.example/console",
  "/\\evil.example/console",
  "/console/..//evil.example",
  "/console/%2e%2e//evil.example",
  "/consoleevil",
  "/console/api/session",
  "/console/\u0000",
  "/console/\r\nset-cookie: a=b",
  "javascript:alert(1)",
  `/console/${"x".repeat(600)}`,
])("%j leads to the first page", (wanted) => {
  expect(localPath(wanted)).toBe("/console");
});
