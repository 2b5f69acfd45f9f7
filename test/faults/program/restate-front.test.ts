/** The addresses of the embedded Restate, for a program, a browser and another user of the machine. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sendRaw } from "../../support/http/raw-request.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";

const service = "/vedette.v1.SentinelRolloutService/singleton";
const image = "registry.example.com/vedette/sentinel:v2";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

const places = () => {
  const { restate_ingress: ingress = "", restate_admin: admin = "" } = program.endpoints();
  return { ingress, admin };
};

const bearer = () => ({ authorization: `Bearer ${program.token()}` });

const json = { "content-type": "application/json" };

const history = async () => {
  const { body } = await program.call("History");
  return body["rollouts"] as { started_by: string; image: string; state: string }[];
};

describe("Restate itself", () => {
  it.runIf(process.platform === "linux")(
    "listens on no port, and its sockets are in a directory of this user alone",
    () => {
      const { pid } = JSON.parse(
        readFileSync(path.join(program.dataDir, "restate.pid.json"), "utf8"),
      ) as { pid: number };
      const folder = path.join(program.dataDir, "restate");

      expect(listeningPortsOf(pid)).toEqual([]);
      expect(existsSync(path.join(folder, "vedette", "ingress.sock"))).toBe(true);
      expect(statSync(folder).mode & 0o777).toBe(0o700);
    },
  );
});

describe.each(["ingress", "admin"] as const)("the address of the %s", (place) => {
  const statusAt = () => (place === "ingress" ? `${service}/Status` : `/ingress${service}/Status`);
  const ask = (headers: Record<string, string>, method = "POST", at = statusAt()) =>
    sendRaw(places()[place], { path: at, method, headers: { ...json, ...headers }, body: "{}" });

  it.each([
    ["a call", "POST", undefined],
    ["a check of health", "GET", { ingress: "/restate/health", admin: "/health" }],
    ["a read of Restate's own tables", "POST", { ingress: "/query", admin: "/query" }],
  ])("refuses %s of this user's own program without a token", async (_what, method, paths) => {
    const answer = await ask({}, method, paths?.[place]);

    expect(answer.status).toBe(401);
    expect(String(answer.headers["www-authenticate"])).toMatch(/Basic.*Bearer/);
  });

  it.each(["Bearer ", "Basic ", "Basic Og==", "Bearer undefined", "Negotiate x", "Token {}"])(
    "refuses '%s', which names no token",
    async (authorization) => {
      expect((await ask({ authorization })).status).toBe(401);
    },
  );

  it("answers a caller with the token, also as a password", async () => {
    const password = Buffer.from(`anyone:${program.token()}`).toString("base64");

    expect((await ask(bearer())).status).toBe(200);
    expect((await ask({ authorization: `Basic ${password}` })).status).toBe(200);
  });

  it("refuses a wrong token", async () => {
    expect((await ask({ authorization: "Bearer wrong" })).status).toBe(401);
  });

  it.each([
    ["a page of another address", { origin: "http://evil.example" }, 403],
    ["a page without an address", { origin: "null" }, 403],
    ["another port of this machine", { origin: "http://127.0.0.1:1" }, 403],
    ["an image in a foreign page", { "sec-fetch-site": "cross-site" }, 403],
    ["a page at another port", { "sec-fetch-site": "same-site" }, 403],
    ["a name that was pointed here", { host: "evil.example" }, 421],
    ["a name that only begins like ours", { host: "127.0.0.1.evil.example" }, 421],
  ])(
    "refuses %s even with the token, and lets no page read that",
    async (_who, headers, status) => {
      const answer = await ask({ ...bearer(), ...headers });

      expect(answer.status).toBe(status);
      expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    },
  );

  it("refuses a browser's preflight request for a foreign page", async () => {
    const headers = {
      origin: "http://evil.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    };

    const answer = await ask(headers, "OPTIONS");

    expect(answer.status).toBe(403);
    expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
  });

  it("opens no connection for a foreign page's web socket", async () => {
    const headers = {
      origin: "http://evil.example",
      connection: "upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };

    expect((await ask(headers, "GET")).status).toBe(403);
  });

  it.each(["", "/restate/..", "/restate/%2e%2e", "/restate/call"])(
    "takes no GET for a call, below '%s'",
    async (before) => {
      const below = place === "ingress" ? "" : "/ingress";

      const answer = await ask(bearer(), "GET", `${below}${before}${service}/Cancel`);

      expect(answer.status).toBe(405);
    },
  );

  it("refuses a body that is too large", async () => {
    const answer = await sendRaw(places()[place], {
      path: statusAt(),
      method: "POST",
      headers: { ...json, ...bearer() },
      body: " ".repeat(10 * 1_024 * 1_024 + 1),
    });

    expect(answer.status).toBe(413);
  });
});

it("accepts the console's sends below its own address", async () => {
  const origin = places().admin;
  const headers = { ...json, ...bearer(), origin, "sec-fetch-site": "same-origin" };

  const answer = await sendRaw(origin, {
    path: `/ingress/restate/send${service}/Status`,
    method: "POST",
    headers,
    body: "{}",
  });

  expect(answer.status).toBe(202);
});

describe("a caller's name", () => {
  const start = (headers: Record<string, string>) =>
    sendRaw(places().ingress, {
      path: `${service}/Rollout`,
      method: "POST",
      headers: { ...json, ...headers },
      body: JSON.stringify({ image: `${image}-${Object.keys(headers).length}` }),
    });

  it("is that of the token at the ingress, whatever else the caller sends", async () => {
    const answer = await start({ ...bearer(), "x-vedette-actor": "alice", "x-a": "b" });

    expect(answer.status).toBe(200);
    expect((await history())[0]?.started_by).toBe("ingress-token");
  });

  it("comes through the gateway", async () => {
    await program.call("Rollout", { image: `${image}-by-gateway` });

    expect((await history())[0]?.started_by).toBe("ingress-token");
  });
});

describe("a send of the Restate console", () => {
  it("is carried out in the name of its token", async () => {
    const origin = places().admin;
    const sent = `${image}-sent-by-the-console`;

    const { status, body } = await sendRaw(origin, {
      path: `/ingress/restate/send${service}/Rollout`,
      method: "POST",
      headers: { ...json, ...bearer(), origin, "sec-fetch-site": "same-origin" },
      body: JSON.stringify({ image: sent }),
    });

    expect([status, JSON.parse(body)]).toEqual([
      202,
      expect.objectContaining({ status: "Accepted", invocationId: expect.stringMatching(/^inv_/) }),
    ]);
    await expect
      .poll(async () => (await history())[0], { timeout: 60_000 })
      .toMatchObject({ image: sent, started_by: "ingress-token", state: "completed" });
  });
});

describe.runIf(hasBrowser)("the Restate console in a browser", () => {
  const openPlayground = async () => {
    const { page } = await openPage();
    await page.context().setHTTPCredentials({ username: "anyone", password: program.token() });
    const name = service.split("/")[1];
    await page.goto(`${places().admin}/ui/overview?servicePlayground=${name}#/operations/Status`);
    return page;
  };

  const sendRequest = async (page: Page) => {
    await page.getByLabel("key", { exact: true }).fill("singleton");
    const answered = page.waitForResponse((answer) => answer.url().includes("/ingress/"));
    await page.getByRole("button", { name: "Send API Request" }).click();
    return answered;
  };

  it("opens with the token only", async () => {
    const { page } = await openPage();

    await expect(page.goto(`${places().admin}/ui/`)).rejects.toThrow("ERR_INVALID_AUTH");
  });

  it("sends, and shows the answer", async () => {
    const page = await openPlayground();

    const answer = await sendRequest(page);

    expect(answer.status()).toBe(200);
    expect(answer.url()).toContain("/restate/call/");
    expect(await answer.json()).toHaveProperty("failed_sentinels");
  });
});

/** Ports that a process listens at, as Linux shows them. */
function listeningPortsOf(pid: number): string[] {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined;
      }
    }),
  );
  return ["tcp", "tcp6"]
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, "utf8").split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === "0A" && own.has(inode))
    .map(([, local = ""]) => local);
}
