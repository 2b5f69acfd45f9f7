/** Calls that the console makes in the name of who is signed in. */
import { expect, it } from "vitest";
import { consoleAccess } from "#control/console-access.ts";
import { createLog } from "#kernel/log.ts";
import type { Role } from "#kernel/roles.ts";

function start() {
  const reached: object[] = [];
  const access = consoleAccess(
    { ingressToken: "shared" },
    {
      identify: () => undefined,
      ingress: {
        call: async ({ path, actor, accounts }) => {
          reached.push({ path, actor, accounts });
          return { status: 200, body: null, invocationId: undefined };
        },
        close: async () => {},
      },
      log: createLog({ level: "silent", format: "json" }),
      provider: undefined,
    },
  );
  return { access, reached };
}

const caller = (...roles: Role[]) => ({ actor: "ada", roles, accounts: ["a"] });

it.each(["/vedette.v1.Definitions/singleton/Apply", "/vedette.v1.MonitorRunners/Add"])(
  "%s is refused to whoever may only operate and approve",
  async (path) => {
    const { access, reached } = start();

    const call = access.call({ path, body: {}, by: caller("operate", "approve") });

    await expect(call).rejects.toThrow("ada may operate, approve; this call takes configure");
    expect(reached).toEqual([]);
  },
);

it("the console has the name and the accounts of who is signed in", async () => {
  const { access, reached } = start();
  const path = "/vedette.v1.Definitions/singleton/Apply";

  await access.call({ path, body: {}, by: caller("configure") });

  expect(reached).toEqual([{ path, actor: "ada", accounts: ["a"] }]);
});
