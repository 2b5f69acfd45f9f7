import { z } from "zod";

/** The id of a check or heartbeat in a request. */
export const checkId = z.string().min(1).max(200);
