import { createRegistryClient } from "#registry/client.ts";
import type { RegistryConfig } from "#registry/config.ts";
import type { FindCredential } from "#registry/credentials.ts";
import { createPinImage as createPin } from "#registry/manifest.ts";

type Wait = "not_found_wait_seconds";

/** The image gate with a client of its own. It does not ask again for an image that is not there, unless that is set. */
export function createPinImage(
  given: Omit<RegistryConfig, Wait> & Partial<Pick<RegistryConfig, Wait>>,
  findCredential: FindCredential,
) {
  const settings = { not_found_wait_seconds: 0, ...given };
  return createPin(settings, createRegistryClient(settings, findCredential));
}
