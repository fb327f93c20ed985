/** A reference in a view to a memory that cannot be shown, and why. */
export interface ViewGap {
  readonly id: string;
  readonly reason: string;
}
