import { expect, it, onTestFinished } from "vitest";
import { unconnectedApi } from "../../support/api/unconnected-api.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

async function start() {
  const app = unconnectedApi();
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => app.close());
  return url;
}

/** For two seconds; whether those that were made have ended does not matter. */
async function untilNoMoreAreMade(requests: readonly string[]) {
  let seen = { count: 0, atMs: Date.now() };
  await waitFor(
    () => {
      if (requests.length > seen.count) seen = { count: requests.length, atMs: Date.now() };
      return Date.now() - seen.atMs > 2_000;
    },
    { withinMs: 60_000, what: "the page to have asked for everything" },
  );
}

it.skipIf(!hasBrowser)("shows the reference page, asking no other host for anything", async () => {
  const url = await start();
  const { page, requests, complaints } = await openPage();

  await page.goto(`${url}/docs`, { waitUntil: "load" });
  await page.getByText("/v2/analytics.getVerifications").first().waitFor();
  await untilNoMoreAreMade(requests);

  const strangers = requests.filter(
    (address) => !address.startsWith(`${url}/`) && !/^(data|blob):/.test(address),
  );
  expect(strangers).toEqual([]);
  expect(complaints).toEqual([]);
  expect(await page.title()).toBe("Vedette public API");
});

it("serves the viewer itself, compressed for those who take it", async () => {
  const url = await start();

  const packed = await fetch(`${url}/docs/js/scalar.js`, {
    headers: { "accept-encoding": "gzip" },
  });
  const plain = await fetch(`${url}/docs/js/scalar.js`, { headers: { "accept-encoding": "" } });

  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(await packed.text()).toBe(await plain.text());
});

it("allows scripts of this server and with the page's own nonce only", async () => {
  const url = await start();

  const [first, second] = await Promise.all([fetch(`${url}/docs/`), fetch(`${url}/docs/`)]);

  const nonceOf = (answer: Response) =>
    /script-src 'self' 'nonce-([^']+)'/.exec(
      answer.headers.get("content-security-policy") ?? "",
    )?.[1];
  const html = await first.text();
  expect(html.match(/<script\b[^>]*>/g)?.every((tag) => / src=| nonce=/.test(tag))).toBe(true);
  expect(html).toContain(`nonce="${nonceOf(first)}"`);
  expect(nonceOf(first)).not.toBe(nonceOf(second));
});
