/** The answer of `GET /v2/liveness`: that this process serves. It looks at nothing else, to be quick. */
export function livenessBody(requestId: string) {
  return { meta: { requestId }, data: { message: "we're cooking" } };
}
