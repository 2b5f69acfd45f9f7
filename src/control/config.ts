import { z } from "zod";
import { optionalText, port } from "#kernel/setting.ts";

export const controlConfig = {
  control: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1"),
      port: port(7071),
      /** Empty: generated on the first start and kept in `<data_dir>/credentials.json`. */
      ingress_token: optionalText(),
    })
    .prefault({}),
};
