import { expect, it } from "vitest";
import { namingSetting } from "#kernel/database-faults.ts";

const setting = "database.url";
const url = "postgresql://vedette:horse-battery@db.example.com/gateways";

function fault(fields: { code?: string; message?: string }): Error {
  return Object.assign(new Error(fields.message ?? "failed"), fields);
}

const explained = (error: Error, at = url) =>
  namingSetting({ setting, url: at }, () => Promise.reject(error)).catch((thrown: Error) => thrown);

it.each([
  [{ code: "ECONNREFUSED" }, "nothing listens at db.example.com:5432"],
  [{ code: "ENOTFOUND" }, "there is no host db.example.com"],
  [{ code: "ETIMEDOUT" }, "db.example.com:5432 does not answer"],
  [{ message: "timeout exceeded when trying to connect" }, "does not answer"],
  [{ code: "28P01" }, "refused the password of user vedette"],
  [
    { message: "SASL: client password must be a string" },
    "the address has no password of user vedette",
  ],
  [{ code: "28000", message: 'role "vedette" does not exist' }, "there is no user vedette"],
  [{ code: "28000", message: "no pg_hba.conf entry for host, no encryption" }, "only TLS"],
  [{ code: "3D000" }, "there is no database gateways"],
  [
    { code: "SELF_SIGNED_CERT_IN_CHAIN" },
    "the certificate of db.example.com is expired, of another host, or not trusted",
  ],
  [{ message: "The server does not support SSL connections" }, "takes no TLS"],
  [{ code: "53300" }, "no connection left"],
  [{ code: "25006" }, "read-only"],
  [{ code: "42501" }, "user vedette lacks rights in database gateways"],
  [{ code: "08P01", message: "no such database: gateways" }, "there is no database gateways"],
])("an error of Postgres is explained: %o", async (fields, words) => {
  const { message, cause } = await explained(fault(fields));

  expect(message).toMatch(/^database\.url: /);
  expect(message).toContain(words);
  expect(message).not.toContain("horse");
  expect(cause).toMatchObject(fields);
});

it("an error of all addresses of a host is explained by the first", async () => {
  const error = new AggregateError([fault({ code: "ECONNREFUSED" })]);

  expect((await explained(error)).message).toContain("nothing listens");
});

it("an error of another kind stays as it is", async () => {
  const error = fault({ code: "23505", message: "duplicate key" });

  expect(await explained(error)).toBe(error);
});

it("an error of the embedded server names no setting", async () => {
  const error = fault({ code: "ECONNREFUSED" });

  expect(await explained(error, "")).toBe(error);
});
