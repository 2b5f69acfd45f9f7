/** The same servers as containers, for those who test against the images that production runs. */
import { GenericContainer, Wait } from "testcontainers";
import type { Endpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import type { TestDatabase, TestRestate } from "./servers.ts";

const restateImage = "docker.io/restatedev/restate:1.7";
const postgresImage = "docker.io/library/postgres:18";

export async function startPostgresContainer(): Promise<TestDatabase> {
  const container = await new GenericContainer(postgresImage)
    .withEnvironment({ POSTGRES_PASSWORD: "test", POSTGRES_DB: "vedette" })
    .withExposedPorts(5432)
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return {
    url: `postgres://postgres:test@${address}/vedette`,
    pid: () => 0,
    stop: async () => {
      await container.stop();
    },
  };
}

export async function startRestateContainer(
  endpoint: Endpoint,
  environment: Record<string, string>,
): Promise<TestRestate> {
  const container = await new GenericContainer(restateImage)
    .withEnvironment(environment)
    .withExposedPorts(8080, 9070)
    .withExtraHosts([{ host: "worker.test", ipAddress: "host-gateway" }])
    .withWaitStrategy(Wait.forHttp("/health", 9070))
    .start();
  const at = (port: number) => `http://${container.getHost()}:${container.getMappedPort(port)}`;
  const { port } = new URL(endpoint.url);
  const workerUrl = `http://worker.test:${port}`;
  await registerWorker({ adminUrl: at(9070), workerUrl, revision: "test" });
  return {
    ingressUrl: at(8080),
    adminUrl: at(9070),
    pid: () => 0,
    stop: async () => {
      await container.stop();
      await endpoint.stop();
    },
  };
}
