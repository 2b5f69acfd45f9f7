/** What becomes of the chat log's invocations that another version of the program has begun. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { chatLog } from "./chat-log.ts";
import { chatChannel } from "./contract.ts";

/** The messages themselves are freed together with the rollouts that send most of them. */
export const notifyDuties: Duties = {
  ...dutiesOf(chatLog, { save: { isCalledAgain: true } }),
  ...dutiesOf(chatChannel, { Post: { isCalledAgain: true } }),
};

export const notifyServices: readonly string[] = [chatLog.name];
