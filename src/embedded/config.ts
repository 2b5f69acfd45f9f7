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
      /** Empty: the embedded server. */
      ingress_url: optionalUrl(),
      admin_url: optionalUrl(),
      /** People and programs reach Restate here, through the guard in front of the server itself. */
      ingress_port: port(8480),
      admin_port: port(9470),
      /** Host on which `control` serves the guard for an external Restate. Empty: none. */
      front_host: optionalText(),
      /** Public keys (`publickeyv1_…`) of an external Restate; the embedded one has its own. */
      identity_keys: textList(),
      /** A file with such a key, as `vedette identity` writes it. Empty: none. */
      identity_key_file: optionalText(),
    })
    .refine((restate) => (restate.ingress_url === "") === (restate.admin_url === ""), {
      error: "set both ingress_url and admin_url (external Restate), or neither (embedded)",
    })
    .prefault({}),
  database: z
    .strictObject({
      url: postgresUrl(),
      /** Address of the Postgres behind `url`, if that is a connection pooler. Empty: `url` is Postgres itself. */
      direct_url: postgresUrl(),
      port: port(5480),
    })
    .refine((database) => database.url !== "" || database.direct_url === "", {
      error: "direct_url needs url: set database.url as well",
    })
    .prefault({}),
};
