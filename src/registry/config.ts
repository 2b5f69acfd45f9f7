import { z } from "zod";
import { optionalText, textList, wholeNumber } from "#kernel/setting.ts";

export const registryConfig = {
  registry: z
    .strictObject({
      /**
       * Registries, or registry/repository prefixes, that images may come from. Empty: any, except those on
       * this machine and at link-local addresses, to which we connect only if one of these lists names them
       * (without a port: at every port).
       */
      allowed: textList(),
      /** Registries (host:port) to use over plain http, besides those on this machine. */
      insecure: textList(),
      /** Token services outside of their registry's domain, for example api.scaleway.com. */
      token_hosts: textList(),
      /** A Docker `config.json` with credentials, or a pull secret of Kubernetes. Empty: none. */
      docker_config: optionalText(),
      /**
       * Time for which a missing image is requested again: a registry with replicas may have it some seconds after
       * the push. 0: not at all. `Plan` has to be answered in time, hence the limit.
       */
      not_found_wait_seconds: wholeNumber({ min: 0, max: 20, default: 5 }),
    })
    .prefault({}),
};
export type RegistryConfig = z.infer<typeof registryConfig.registry>;
