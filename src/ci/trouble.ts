/** Whoever has the evidence cannot be asked now. The message is for people and has no secret. */
export class CiTrouble extends Error {
  /** True if it may be over in a moment. */
  readonly isBrief: boolean;

  constructor(message: string, { isBrief = false } = {}) {
    super(message);
    this.name = "CiTrouble";
    this.isBrief = isBrief;
  }
}
