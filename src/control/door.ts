import type { FastifyPluginAsync } from "fastify";

/** Routes that are served beside the gateway, to callers that are neither operators nor Restate's. */
export type Door = {
  isMine: (path: string) => boolean;
  plugin: FastifyPluginAsync;
  /**
   * Answers a request without a body by itself, before the framework; null: `plugin` does it. The path is without its
   * query. Must neither throw nor reject: the caller would be told nothing.
   */
  answer?: (method: string, path: string) => Promise<ShortAnswer> | null;
};

/** An answer in plain text. */
export type ShortAnswer = { status: number; body: string };
