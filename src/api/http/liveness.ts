/** The body of `GET /v2/liveness`: that this process serves. It checks nothing else, to be quick. */
export function livenessBody(requestId: string, isLeaving: boolean) {
  return { meta: { requestId }, data: { message: isLeaving ? "we're closing" : "we're cooking" } };
}
