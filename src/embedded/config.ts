import { z } from "zod";
import { optionalText, optionalUrl, port, secret, textList, urlSetting } from "#kernel/setting.ts";

const postgresUrl = () =>
  secret(
    urlSetting({
      example: "postgresql://user:password@db.example.com/vedette",
    }),
  );

export const embeddedConfig = {
  restate: z
    .strictObject({
      ingress_url: optionalUrl().describe(
        "The ingress of an external Restate; empty: the embedded one",
      ),
      admin_url: optionalUrl().describe("Its admin API; set both or neither"),
      ingress_port: port(8480).describe("The guarded ingress of Restate"),
      admin_port: port(9470).describe("The guarded admin API and console of Restate"),
      front_host: optionalText().describe("Where `control` guards an external Restate"),
      identity_keys: textList().describe("Public keys (`publickeyv1_…`) of an external Restate"),
      identity_key_file: optionalText().describe(
        "A file with such a key, as `vedette identity` writes it",
      ),
    })
    .refine((restate) => (restate.ingress_url === "") === (restate.admin_url === ""), {
      error: "set both ingress_url and admin_url (external Restate), or neither (embedded)",
    })
    .prefault({}),
  database: z
    .strictObject({
      url: postgresUrl().describe("Postgres or its pooler, with password; empty: the embedded one"),
      direct_url: postgresUrl().describe("Postgres itself if `database.url` is a pooler's"),
      port: port(5480).describe("The port of the embedded one"),
    })
    .refine((database) => database.url !== "" || database.direct_url === "", {
      error: "direct_url needs url: set database.url as well",
    })
    .prefault({}),
};
