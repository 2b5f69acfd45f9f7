/** The same servers as containers, for those who test against the images that production runs. */
import {
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
} from "testcontainers";
import { freePort } from "../free-port.ts";
import type { TestDatabase, TestRestate, TestServer } from "./servers.ts";

const restateImage = "docker.io/restatedev/restate:1.7.12";
const postgresImage =
  "docker.io/library/postgres:18.6@sha256:5a5a84b19854a9ffaa54082c166ff4ec27473a361e496e5ea167f298f2da9722";

export async function startPostgresContainer(): Promise<TestDatabase> {
  await requireEngine();
  const port = await freePort();
  const container = await new GenericContainer(postgresImage)
    .withEnvironment({ POSTGRES_PASSWORD: "test", POSTGRES_DB: "vedette" })
    .withExposedPorts({ container: 5432, host: port })
    .withWaitStrategy(
      Wait.forAll([
        // The image starts the server twice: the first time to set it up.
        Wait.forLogMessage(/ready to accept connections/, 2),
        Wait.forListeningPorts(),
      ]),
    )
    .start();
  const url = `postgres://postgres:test@${container.getHost()}:${port}/vedette`;
  return { ...controllable(container), url };
}

/** `workerUrl` is an address of this machine; the answer has it as the container sees it. */
export async function restateContainer(
  environment: Record<string, string>,
  workerUrl: string,
): Promise<{ restate: TestRestate; workerUrl: string }> {
  await requireEngine();
  const [ingress, admin] = [await freePort(), await freePort()];
  const container = await new GenericContainer(restateImage)
    .withEnvironment(environment)
    .withExposedPorts({ container: 8080, host: ingress }, { container: 9070, host: admin })
    .withExtraHosts([{ host: "worker.test", ipAddress: "host-gateway" }])
    .withWaitStrategy(Wait.forHttp("/health", 9070))
    .start();
  const at = (port: number) => `http://${container.getHost()}:${port}`;
  return {
    restate: { ...controllable(container), ingressUrl: at(ingress), adminUrl: at(admin) },
    workerUrl: `http://worker.test:${new URL(workerUrl).port}`,
  };
}

async function requireEngine(): Promise<void> {
  try {
    await getContainerRuntimeClient();
  } catch (error) {
    const message = "TEST_ENGINE=docker is set, but no container engine answers";
    throw new Error(message, { cause: error });
  }
}

/** The host ports are fixed, so that the server comes back where it was. */
function controllable(container: StartedTestContainer): TestServer {
  return {
    pid: () => 0,
    kill9: async () => {
      const { container: client } = await getContainerRuntimeClient();
      await client.getById(container.getId()).kill({ signal: "SIGKILL" });
    },
    restart: () => container.restart({ timeout: 10_000 }),
    stop: async () => {
      await container.stop();
    },
  };
}
