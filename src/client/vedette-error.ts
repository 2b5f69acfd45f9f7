type Problem = { status: number; code: string; detail: string };

/**
 * A call that was refused, or had no usable answer. `status` and `code` are those of the answer
 * (docs/rollouts.md, "The handlers"). Without one `status` is 0, and `code` is `unreachable` or `timeout`.
 * `unexpected_answer`: what answers there is not Vedette, or another version of it.
 */
export class VedetteError extends Error {
  override readonly name = "VedetteError";
  readonly status: number;
  readonly code: string;
  readonly detail: string;

  constructor({ status, code, detail }: Problem, options?: ErrorOptions) {
    super(detail, options);
    this.status = status;
    this.code = code;
    this.detail = detail;
  }
}
