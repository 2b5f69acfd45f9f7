import { z } from "zod";
import { readPairs } from "#kernel/pairs.ts";
import { optionalUrl, secretText, textList } from "#kernel/setting.ts";
import { readRepository } from "./commit/repository.ts";
import { sigstoreConfig } from "./sigstore/config.ts";

/** Results that are no proof, with which an image may pass if the settings say so. */
const AllowedResult = z.enum(["missing", "unverifiable", "unavailable"]);

/** Text in the environment: `org.example.tests=passed`. */
const labels = () =>
  z.preprocess(
    (value) => (typeof value === "string" ? readPairs(value) : value),
    z.record(z.string().min(1), z.string()).default({}),
  );

const repositories = () =>
  textList().refine((all) => all.every((one) => readRepository(one) !== undefined), {
    error: "must be addresses of repositories, such as https://github.com/acme/gateway",
  });

export const ciConfig = {
  ci: z
    .strictObject({
      /** Results with which an image passes all the same. */
      allow: z
        .preprocess((value) => textList().safeParse(value).data ?? value, z.array(AllowedResult))
        .default([]),
      /** The labels that an image has to have, and their values. */
      labels: labels(),
      commit: z
        .strictObject({
          /** Address of GitHub's API, or of a server that answers like it. */
          api_url: optionalUrl().transform((url) => url || "https://api.github.com"),
          /** A secret. Empty: only public repositories, and few requests an hour. */
          token: secretText(),
          /** The repositories whose commits count, as the images' labels have them. */
          repositories: repositories(),
          /** Branches on one of which the commit has to be. Empty: any commit, of a pull request too. */
          branches: textList(),
          /** Statuses and check runs that have to be green. Empty: all that a commit has, one at least. */
          required: textList(),
        })
        .prefault({}),
      sigstore: sigstoreConfig,
    })
    .prefault({}),
};
export type CiConfig = z.infer<typeof ciConfig.ci>;
