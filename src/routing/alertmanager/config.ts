import { z } from "zod";
import { optionalText, secretUrl, textList, wholeNumber } from "#kernel/setting.ts";

const alertManager = () =>
  z
    .strictObject({
      url: secretUrl().describe(
        "The address of the alert manager, with `user:password@` if needed; empty: it is not called",
      ),
      config_file: optionalText().describe(
        "Its configuration file, kept in step; two environments may share one",
      ),
      source_id: optionalText().describe(
        "Its alert source at the incident service; empty: looked up by title",
      ),
      token_file: optionalText().describe(
        "The file that has its token; empty: `alerts rotate` leaves it out",
      ),
      mounted_token_file: optionalText().describe(
        "The path of that file as the alert manager sees it, if it differs",
      ),
      reload_command: textList().describe(
        "A program and its arguments that reload it; empty: a call to its `url`",
      ),
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
