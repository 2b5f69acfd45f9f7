import { once } from "node:events";
import { expect, it } from "vitest";
import { prepareCertificates, smallApi } from "../../../support/http/certificates.ts";
import { connectTls, getOver, readAnswer, readSerial } from "../../../support/http/tls-client.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";
import { waitFor } from "../../../support/wait-for.ts";

const { database } = prepareDatabase();

type Target = Parameters<typeof readSerial>[0];

const untilOther = (target: Target, serial: string) =>
  waitFor(async () => (await readSerial(target)) !== serial, {
    withinMs: 5_000,
    what: "the new certificate to be served",
  });

it("serves the API under its own name", async () => {
  const { renew, serve } = await prepareCertificates(database());
  await renew();
  const target = await serve((await smallApi()).api);

  const answer = await getOver(await connectTls(target), "/");

  expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\nhere$/);
});

it("refuses handshakes until there is a certificate, and takes the next one then", async () => {
  const { renew, serve } = await prepareCertificates(database());
  const target = await serve((await smallApi()).api);
  await expect(readSerial(target)).rejects.toThrow();

  await renew();

  expect(await readSerial(target)).toMatch(/^[0-9A-F]+$/);
});

it("swaps the certificate in every process, without an end to connections there are", async () => {
  const { renew, serve } = await prepareCertificates(database());
  await renew();
  const one = await serve((await smallApi()).api);
  const other = await serve((await smallApi()).api);
  const serial = await readSerial(one);
  const connection = await connectTls(one);
  await getOver(connection, "/");

  await renew(61);

  await untilOther(one, serial);
  await untilOther(other, serial);
  expect(await readSerial(one)).toBe(await readSerial(other));
  expect(await getOver(connection, "/")).toContain("200 OK");
  expect(connection.getPeerCertificate().serialNumber).toBe(serial);
});

it("answers a request that was in flight while the certificate was swapped", async () => {
  const { renew, serve } = await prepareCertificates(database());
  await renew();
  const { api, letGo, reached } = await smallApi();
  const target = await serve(api);
  const serial = await readSerial(target);
  const connection = await connectTls(target);
  const answer = getOver(connection, "/slow");
  await reached;

  await renew(61);
  await untilOther(target, serial);
  letGo();

  expect(await answer).toContain("done");
});

it("has the expiry in its metrics", async () => {
  const { renew, serve } = await prepareCertificates(database());
  const { expiresMs } = await renew();

  const { registry } = await serve((await smallApi()).api);

  expect(await registry.metrics()).toContain(
    `vedette_api_certificate_expires_timestamp_seconds ${expiresMs / 1_000}`,
  );
});

it("ends the connection of a client that sends its request too slowly", async () => {
  const { renew, serve } = await prepareCertificates(database());
  await renew();
  const connection = await connectTls(await serve((await smallApi()).api));

  connection.write("GET / HTTP/1.1\r\nhost: te");

  expect(await readAnswer(connection)).toMatch(/^HTTP\/1.1 408 /);
  if (!connection.closed) await once(connection, "close");
});

it("speaks no TLS older than 1.2", async () => {
  const { renew, serve } = await prepareCertificates(database());
  await renew();
  const target = await serve((await smallApi()).api);

  const old = connectTls({ ...target, options: { maxVersion: "TLSv1.1", minVersion: "TLSv1" } });

  await expect(old).rejects.toThrow();
});
