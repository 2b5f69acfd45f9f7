import { z } from "zod";
import { readRepository } from "#ci/commit/repository.ts";
import { sigstoreConfig } from "#ci/sigstore/config.ts";
import { optionalUrl, secretText, textList } from "#kernel/setting.ts";
import { readPairs } from "#kernel/text.ts";

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
      allow: z
        .preprocess((value) => textList().safeParse(value).data ?? value, z.array(AllowedResult))
        .default([])
        .describe("Results that pass all the same: `missing`, `unverifiable`, `unavailable`"),
      labels: labels().describe(
        "Labels that an image has to have; as text `org.example.tests=passed`",
      ),
      commit: z
        .strictObject({
          api_url: optionalUrl()
            .transform((url) => url || "https://api.github.com")
            .describe("The API of GitHub or a server like it"),
          token: secretText().describe(
            "Reads checks and statuses; empty: public repositories only, few requests an hour",
          ),
          repositories: repositories().describe("The repositories whose commits count"),
          branches: textList().describe("Branches that have to have the commit; empty: any"),
          required: textList().describe(
            "Statuses and check runs that have to be green; empty: all, one at least",
          ),
        })
        .prefault({}),
      sigstore: sigstoreConfig,
    })
    .prefault({}),
};
export type CiConfig = z.infer<typeof ciConfig.ci>;
