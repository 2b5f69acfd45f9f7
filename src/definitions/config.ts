import { z } from "zod";
import { optionalText } from "#kernel/setting.ts";

export const definitionsConfig = {
  definitions: z
    .strictObject({
      file: optionalText().describe(
        "The definitions; empty: `vedette.config.*` in the working directory",
      ),
      apply: z
        .enum(["start", "never"])
        .default("start")
        .describe("`never`: by `vedette config apply` alone"),
      secrets_dir: optionalText().describe(
        "A directory with a file for each secret `{{NAME}}` of rows",
      ),
    })
    .prefault({}),
};
