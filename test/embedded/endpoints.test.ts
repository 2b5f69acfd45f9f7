import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { Endpoints } from "#embedded/contract.ts";
import { publishEndpoints } from "#embedded/running.ts";
import { identifyProcess } from "#kernel/process.ts";
import { tempDir } from "../support/temp-dir.ts";

const endpoints = {
  api: "http://127.0.0.1:7070",
  control: "http://127.0.0.1:7071",
  restate_ingress: "http://127.0.0.1:8480",
  restate_admin: "http://127.0.0.1:9470",
  worker: "http://127.0.0.1:9480",
  pid: 42,
};

it("publishes the addresses in the form of the contract", () => {
  const directory = tempDir();

  publishEndpoints(directory, endpoints);

  const text = readFileSync(path.join(directory, "endpoints.json"), "utf8");
  const process = identifyProcess(globalThis.process.pid);
  expect(Endpoints.parse(JSON.parse(text))).toEqual({ ...endpoints, process });
});

it("the endpoints file removes the addresses on stop", () => {
  const directory = tempDir();
  const withdraw = publishEndpoints(directory, endpoints);

  withdraw();

  expect(existsSync(path.join(directory, "endpoints.json"))).toBe(false);
});

it("the endpoints file keeps the addresses of a program that has taken over the directory", () => {
  const directory = tempDir();
  const file = path.join(directory, "endpoints.json");
  const withdraw = publishEndpoints(directory, endpoints);
  const others = JSON.stringify({ ...endpoints, process: { pid: 42, startedAt: "1" } });
  writeFileSync(file, others);

  withdraw();

  expect(readFileSync(file, "utf8")).toBe(others);
});
