import { z } from "zod";
import { optionalText, secretUrl, textList, wholeNumber } from "#kernel/setting.ts";

const alertManager = () =>
  z
    .strictObject({
      url: secretUrl().describe(
        "Its address, with `user:password@` if needed; empty: it is not called",
      ),
      config_file: optionalText().describe("Its configuration file, kept in step"),
      source_id: optionalText().describe("Its alert source; empty: looked up by title"),
      token_file: optionalText().describe("Its token's file; empty: `alerts rotate` leaves it out"),
      mounted_token_file: optionalText().describe("That file's path as the alert manager sees it"),
      reload_command: textList().describe("What reloads it; empty: a call to its `url`"),
      reload_timeout_seconds: wholeNumber({ min: 1, max: 600, default: 30 }).describe(
        "The limit of a reload",
      ),
    })
    .prefault({});

export const alertmanagerConfig = {
  alertmanager: z
    .strictObject({ production: alertManager(), staging: alertManager() })
    .prefault({}),
};

export type AlertmanagerSettings = z.infer<ReturnType<typeof alertManager>>;
