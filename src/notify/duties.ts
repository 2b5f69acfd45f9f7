/** How to replace invocations of the chat channels and their log that another version of the program began. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { chatLog } from "./chat-log.ts";
import { chatChannel } from "./contract.ts";

/** The chat channels' invocations are ended together with those of rollouts, which send most messages. */
export const notifyDuties: Duties = {
  ...dutiesOf(chatLog, { save: { isCalledAgain: true } }),
  ...dutiesOf(chatChannel, { Post: { isCalledAgain: true } }),
};

export const notifyServices: readonly string[] = [chatLog.name];
