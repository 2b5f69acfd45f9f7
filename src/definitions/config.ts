import { z } from "zod";
import { optionalText } from "#kernel/setting.ts";

export const definitionsConfig = {
  definitions: z
    .strictObject({
      /** The file of checks, heartbeats, channels and routes; empty: `vedette.config.*` in the working directory. */
      file: optionalText(),
      /** Decides if a start applies that file. `never`: only `vedette config apply` does. */
      apply: z.enum(["start", "never"]).default("start"),
      /** A directory of files named by the secrets that rows name as `{{NAME}}`. */
      secrets_dir: optionalText(),
    })
    .prefault({}),
};
