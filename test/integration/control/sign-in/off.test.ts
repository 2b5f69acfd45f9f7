/** `control` without an identity provider. */
import { expect, it, onTestFinished } from "vitest";
import { createControl } from "#control/control.ts";
import { createLog } from "#kernel/log.ts";

async function startControl(): Promise<string> {
  const log = createLog({ level: "silent", format: "json" });
  const control = createControl({ ingressUrl: "http://127.0.0.1:1", ingressToken: "shared", log });
  onTestFinished(() => control.close());
  return control.listen({ host: "127.0.0.1", port: 0 });
}

it.each(["begin", "finish", "device", "device/poll"])("says so at /sign-in/%s", async (path) => {
  const url = await startControl();

  const answer = await fetch(`${url}/sign-in/${path}`, { method: "POST" });

  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({
    code: "sign_in_off",
    detail: expect.stringContaining("control.oidc"),
  });
});

it("says whose token it is, and takes nothing for a session", async () => {
  const url = await startControl();
  const ask = (bearer: string, method = "GET") =>
    fetch(`${url}/sign-in/session`, { method, headers: { authorization: `Bearer ${bearer}` } });

  const known = await ask("shared");
  const others = [await ask("vds_abc"), await ask(""), await ask("shared", "DELETE")];

  expect(await known.json()).toEqual({
    actor: "ingress-token",
    roles: ["read", "operate", "approve", "notify", "configure"],
    by: "token",
    ends_at: null,
  });
  expect(others.map(({ status }) => status)).toEqual([401, 401, 401]);
});
