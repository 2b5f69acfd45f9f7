/** What a program needs whose images have to have passed CI: a registry, GitHub, and somebody who signs. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { descriptorOf, startDockerRegistry } from "../servers/docker-registry.ts";
import { tempDir } from "../temp-dir.ts";
import { startFakeGithub } from "./fake-github.ts";
import { createSigner, release, type SignOptions } from "./signer.ts";

const repository = "acme/sentinel";
const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";
const indexType = "application/vnd.oci.image.index.v1+json";
const provenanceType = "https://slsa.dev/provenance/v1";

/** The commit of a version. */
const shaOf = (version: string) => Buffer.from(version.padEnd(20, ".")).toString("hex");

/** For the test that asks for it. */
export async function startGate() {
  const registry = await startDockerRegistry({ auth: "open" });
  const github = await startFakeGithub();
  const signer = await createSigner();
  const trustedRoot = path.join(tempDir(), "trusted_root.json");
  writeFileSync(trustedRoot, JSON.stringify(signer.trustedRoot));
  const sigstore = "VEDETTE_CI__SIGSTORE__";
  /** At the host of its API, as that of an own server is. */
  const source = `${github.apiUrl}/acme/gateway`;

  const attach = async (digest: string, bundle: object) => {
    const blob = Buffer.from(JSON.stringify(bundle));
    const layers = [{ mediaType: bundleType, ...descriptorOf(blob) }];
    const empty = descriptorOf(Buffer.from("{}"));
    const artifact = { schemaVersion: 2, artifactType: bundleType, config: empty, layers };
    const blobs = [blob, Buffer.from("{}")];
    const referrer = await registry.put({ repository, manifest: artifact, blobs });
    await registry.put({
      repository,
      reference: digest.replace(":", "-"),
      mediaType: indexType,
      manifest: {
        schemaVersion: 2,
        mediaType: indexType,
        manifests: [
          {
            mediaType: "application/vnd.oci.image.manifest.v1+json",
            artifactType: bundleType,
            digest: referrer,
            size: 1,
          },
        ],
      },
    });
  };

  return {
    registry,
    github,
    /** The settings that ask for all four kinds. */
    environment: {
      VEDETTE_ROLLOUT__REQUIRE_CI: "commit,signature,provenance,label",
      VEDETTE_REGISTRY__INSECURE: registry.host,
      VEDETTE_CI__LABELS: "org.example.tests=passed",
      VEDETTE_CI__COMMIT__API_URL: github.apiUrl,
      VEDETTE_CI__COMMIT__REPOSITORIES: source,
      VEDETTE_CI__COMMIT__REQUIRED: "build",
      [`${sigstore}TRUSTED_ROOT`]: trustedRoot,
      [`${sigstore}IDENTITIES__RELEASE__ISSUER`]: release.issuer,
      [`${sigstore}IDENTITIES__RELEASE__SUBJECT`]: release.subject,
      [`${sigstore}BUILDERS`]: release.subject,
      [`${sigstore}SOURCES`]: "https://github.com/acme/gateway",
    },
    /** Pushes a version whose labels name its commit; answers its name and digest. */
    push: async (version: string) => {
      const labels = {
        "org.example.tests": "passed",
        "org.opencontainers.image.source": source,
        "org.opencontainers.image.revision": shaOf(version),
      };
      const pushed = { repository, tag: version, content: version, labels };
      const digest = await registry.push(pushed);
      return { image: `${registry.host}/${repository}:${version}`, digest };
    },
    /** The check run of the version's commit. */
    report: (version: string, conclusion: "success" | "failure" | null) => {
      const status = conclusion === null ? ("in_progress" as const) : ("completed" as const);
      const runs = [{ name: "build", status, conclusion }];
      github.commits.set(`acme/gateway@${shaOf(version)}`, { runs });
    },
    /** Who asks for the commit's checks gets no answer. */
    hold: (version: string) => {
      github.commits.set(`acme/gateway@${shaOf(version)}`, () => {});
    },
    /** Attaches provenance, which is a signature too. */
    sign: async (digest: string, options: SignOptions = {}) => {
      const predicate = {
        buildDefinition: {
          externalParameters: { workflow: { repository: "https://github.com/acme/gateway" } },
        },
        // As `actions/attest-build-provenance` writes it.
        runDetails: { builder: { id: release.subject } },
      };
      const statement = { digest, predicateType: provenanceType, predicate };
      await attach(digest, await signer.signStatement(statement, options));
    },
  };
}
