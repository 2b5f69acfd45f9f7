import { expect, it } from "vitest";
import { adviseOn } from "#worker/engine.ts";
import { isSuperseded } from "#worker/register.ts";

const endpoint = "http://worker:9480/rev-4f2a";

it.each([
  [
    "names the command that moves what a version without a process has left",
    "RT0010",
    /upgrade adopt 4f2a$/,
  ],
  ["promises the release of what another version started", "RT0016", /released by itself/],
  ["promises another attempt after any other failure", "RT0006", /retried by itself/],
  ["promises another attempt after a failure without a code", null, /retried by itself/],
])("advice %s", (_, code, words) => {
  expect(adviseOn({ status: "backing-off", code, endpoint })).toMatch(words);
});

it("advice on a paused invocation names the command that retries it", () => {
  expect(adviseOn({ status: "paused", code: null, endpoint })).toMatch(/vedette engine retry/);
});

const deployment = (id: string, revision: number) => ({ id, services: [{ name: "a", revision }] });

it("a deployment is superseded while another one has a higher revision of a service", () => {
  const known = [deployment("dp_1", 1), deployment("dp_2", 2)];

  expect(isSuperseded(known, "dp_1")).toBe(true);
  expect(isSuperseded(known, "dp_2")).toBe(false);
});
