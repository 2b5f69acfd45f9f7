import { describe, expect, it } from "vitest";
import { findRoute, type Route, roleOf, signedName } from "#control/routes.ts";
import { type Role, roles } from "#kernel/roles.ts";

const rollout = "/vedette.v1.SentinelRolloutService";

describe("findRoute", () => {
  it.each([
    `${rollout}/singleton/Rollout`,
    `${rollout}/singleton/Rollout/send`,
    `${rollout}/singleton/RollbackAll`,
    `${rollout}/singleton/Status`,
    "/vedette.v1.SentinelService/gw-1/NotifyReady",
    "/vedette.v1.SentinelService/.../NotifyReady",
    "/vedette.v1.SentinelService/.gw/NotifyReady",
    "/vedette.v1.FleetService/List",
    "/vedette.v1.FleetService/Log",
    "/vedette.v1.CronService/key-refill/Status",
    "/vedette.v1.CronService/key-refill/Run",
    "/vedette.v1.Drill/monday-drill/Run",
  ])("lets %s through", (path) => {
    expect(findRoute(path)).toBeDefined();
  });

  it.each([
    "/",
    rollout,
    `${rollout}/singleton`,
    `${rollout}/Other/Rollout`,
    `${rollout}/a%2Fb/Rollout`,
    `${rollout}/singleton/begin`,
    `${rollout}/singleton/record`,
    `${rollout}/singleton/rollout`,
    `${rollout}/singleton/Rollout/`,
    `${rollout}/singleton/Rollout/attach`,
    `${rollout}/singleton/Rollout%2f..`,
    `${rollout}/singleton/../singleton/Rollout`,
    `/x${rollout}/singleton/Rollout`,
    "/vedettexv1.SentinelRolloutService/singleton/Rollout",
    "/vedette.v1.SentinelService/gw-1/Deploy",
    "/vedette.v1.SentinelService/a/b/NotifyReady",
    "/vedette.v1.SentinelService/./NotifyReady",
    "/vedette.v1.SentinelService/../NotifyReady",
    "/vedette.v1.SentinelService/%2e%2E/NotifyReady",
    "/vedette.v1.SentinelService/.%2e/NotifyReady/send",
    "/vedette.v1.RolloutRunner/run",
    "/vedette.v1.CronService/key-refill/tick",
    "/vedette.v1.CronService/key-refill/start",
    "/vedette.v1.CronService/unknown/Run",
    "/vedette.v1.CronRunner/key-refill/run",
    "/vedette.v1.Drill/monday-drill/start",
    "/vedette.v1.Drill/monday-drill/noted",
    "/vedette.v1.Drill/monday-drill/sendOut",
    "/restate/health",
    "/restate/invocation/inv_1/output",
  ])("keeps %s out", (path) => {
    expect(findRoute(path)).toBeUndefined();
  });

  it("knows which calls change something", () => {
    expect(findRoute(`${rollout}/singleton/Rollout`)?.isWrite).toBe(true);
    expect(findRoute(`${rollout}/singleton/Status`)?.isWrite).toBe(false);
    expect(findRoute("/vedette.v1.Drill/monday-drill/Run")?.isWrite).toBe(true);
  });

  it("takes more than the role to read for the log of a sentinel", () => {
    const log = findRoute("/vedette.v1.FleetService/Log") as Route;

    expect([log.isWrite, roleOf(log)]).toEqual([false, "operate"]);
  });

  it.each([
    "/vedette.v1.Definitions/singleton/Apply",
    "/vedette.v1.Definitions/singleton/Apply/send",
    "/vedette.v1.AlertRoutes/singleton/Apply",
    "/vedette.v1.MonitorRunners/Add",
    "/vedette.v1.MonitorRunners/Remove",
    "/vedette.v1.Heartbeat/nightly-backup/Register",
  ])("takes configure for %s, which changes what is watched or where secrets go", (path) => {
    expect(roleOf(findRoute(path) as Route)).toBe("configure");
  });

  it.each([
    [`${rollout}/singleton/Rollout`, "operate"],
    [`${rollout}/singleton/Approve`, "approve"],
    ["/vedette.v1.FleetService/ConfirmList", "operate"],
    ["/vedette.v1.CronService/key-refill/Run", "operate"],
    ["/vedette.v1.ApiCheck/verify-key/Run", "operate"],
    ["/vedette.v1.ApiCheck/verify-key/Mute", "operate"],
    ["/vedette.v1.Heartbeat/nightly-backup/Acknowledge", "operate"],
    ["/vedette.v1.Drill/monday-drill/Run", "operate"],
    ["/vedette.v1.AlertEvents/Retry", "operate"],
    ["/vedette.v1.AlertEvents/Test", "operate"],
    ["/vedette.v1.Definitions/singleton/Plan", "read"],
    ["/vedette.v1.AlertRoutes/singleton/Status", "read"],
    ["/vedette.v1.MonitorRunners/List", "read"],
  ])("takes for %s the role %s", (path, role) => {
    expect(roleOf(findRoute(path) as Route)).toBe(role);
  });
});

describe("signedName", () => {
  const caller = (roles: Role[]) => ({ actor: "ann", roles });

  it.each([
    [`${rollout}/singleton/Plan`, "operate"],
    [`${rollout}/singleton/Plan/send`, "operate"],
    ["/vedette.v1.Definitions/singleton/Plan", "configure"],
    ["/vedette.v1.Definitions/singleton/Plan/send", "configure"],
  ] as const)("of the plan %s is for whoever may %s alone", (path, role) => {
    const others = roles.filter((one) => one !== role);

    expect([signedName(caller([role]), path), signedName(caller(others), path)]).toEqual([
      "ann",
      undefined,
    ]);
  });

  it("of other calls is everybody's", () => {
    expect(signedName(caller(["read"]), `${rollout}/singleton/Status`)).toBe("ann");
  });
});
