import { z } from "zod";
import { optionalText, secretUrl, textList, wholeNumber } from "#kernel/setting.ts";

const alertManager = () =>
  z
    .strictObject({
      /**
       * Its address, with `user:password@` if it requires them; empty: its running configuration is not
       * read, and no reload is requested.
       */
      url: secretUrl(),
      /** Its configuration file on this machine, kept in step; two environments may share one. */
      config_file: optionalText(),
      /** The id of its alert source at the incident service; empty: looked up by the source's title. */
      source_id: optionalText(),
      /** The file of this machine that holds its token; empty: `alerts rotate` leaves it out. */
      token_file: optionalText(),
      /** The path of the same file inside the alert manager's container, when it differs. */
      mounted_token_file: optionalText(),
      /** A program and its arguments, run without a shell; empty: a reload is requested at its `url`. */
      reload_command: textList(),
      reload_timeout_seconds: wholeNumber({ min: 1, max: 600, default: 30 }),
    })
    .prefault({});

export const alertmanagerConfig = {
  alertmanager: z
    .strictObject({ production: alertManager(), staging: alertManager() })
    .prefault({}),
};

/** The settings of one environment's metrics alert manager. */
export type AlertmanagerSettings = z.infer<ReturnType<typeof alertManager>>;
