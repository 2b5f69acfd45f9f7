import { z } from "zod";
import { optionalText, textList, wholeNumber } from "#kernel/setting.ts";

const alertManager = () =>
  z
    .strictObject({
      /** Of its alert source at the incident service; empty: looked up by the source's title. */
      source_id: optionalText(),
      /** The file of this machine that holds its token; empty: `alerts rotate` leaves it out. */
      token_file: optionalText(),
      /** The same file as the alert manager sees it, when that is elsewhere. */
      mounted_token_file: optionalText(),
      /** A program and its arguments, run without a shell when the token is replaced; may be empty. */
      reload_command: textList(),
      reload_timeout_seconds: wholeNumber({ min: 1, max: 600, default: 30 }),
    })
    .prefault({});

export const rotateConfig = {
  alertmanager: z
    .strictObject({ production: alertManager(), staging: alertManager() })
    .prefault({}),
};
