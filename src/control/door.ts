import type { FastifyPluginAsync } from "fastify";

/** Routes that are served beside the gateway, to callers that are neither operators nor Restate's. */
export type Door = { isMine: (path: string) => boolean; plugin: FastifyPluginAsync };
