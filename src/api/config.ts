import { z } from "zod";
import { optionalText, port } from "#kernel/setting.ts";

export const apiConfig = {
  api: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1"),
      port: port(7070),
      /** Empty: generated on the first start and kept in `<data_dir>/credentials.json`. */
      root_key: optionalText(),
    })
    .prefault({}),
};
