import { z } from "zod";
import { optionalText, optionalUrl, textList, wholeNumber } from "#kernel/setting.ts";

const alertManager = () =>
  z
    .strictObject({
      /**
       * Where it is reached, with `user:password@` if it asks for them; empty: it is not asked what it
       * runs with, nor told to reload.
       */
      url: optionalUrl(),
      /** Its configuration on this machine, which is kept in step; two environments may share one. */
      config_file: optionalText(),
      /** Of its alert source at the incident service; empty: looked up by the source's title. */
      source_id: optionalText(),
      /** The file of this machine that holds its token; empty: `alerts rotate` leaves it out. */
      token_file: optionalText(),
      /** The same file as the alert manager sees it, when that is elsewhere. */
      mounted_token_file: optionalText(),
      /** A program and its arguments, run without a shell; empty: it is told to reload at its `url`. */
      reload_command: textList(),
      reload_timeout_seconds: wholeNumber({ min: 1, max: 600, default: 30 }),
    })
    .prefault({});

export const alertmanagerConfig = {
  alertmanager: z
    .strictObject({ production: alertManager(), staging: alertManager() })
    .prefault({}),
};

/** Of the metrics alert manager of one environment. */
export type AlertmanagerSettings = z.infer<ReturnType<typeof alertManager>>;
