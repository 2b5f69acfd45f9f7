import { expect, it } from "vitest";
import { connectRunning } from "#routing/alertmanager/running.ts";
import { createSourceTokens } from "#routing/tokens/source-tokens.ts";
import { serveAnswer, writeWithoutEnd } from "../../support/servers/answering-server.ts";

const serveWithoutEnd = async () => {
  const written = { bytes: 0 };
  const url = await serveAnswer((outgoing) => writeWithoutEnd(outgoing, written));
  return { url, written };
};

it("an alert manager that answers without an end is not read to its end", async () => {
  const { url, written } = await serveWithoutEnd();

  await expect(connectRunning(url).readState()).rejects.toThrow("cannot be reached");

  expect(written.bytes).toBeLessThan(100_000_000);
});

it("an incident service that answers without an end is not read to its end", async () => {
  const { url, written } = await serveWithoutEnd();
  const { read } = createSourceTokens({ url, apiKey: "key", attempts: 1 });

  const reading = read({ kind: "alertmanager", id: "01S", title: "Alertmanager" });

  await expect(reading).rejects.toThrow("cannot be reached");
  expect(written.bytes).toBeLessThan(100_000_000);
});

it("a page for people is no proof of a token", async () => {
  const url = await serveAnswer((outgoing) =>
    outgoing.end("<!doctype html><title>Sign in</title>"),
  );
  const { tryOut } = createSourceTokens({ url, apiKey: "key", attempts: 1 });

  const trying = tryOut({ kind: "alertmanager", id: "01S" }, "any token");

  await expect(trying).rejects.toThrow("is incident.url its address?");
});
