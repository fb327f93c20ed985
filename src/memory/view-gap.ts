/** A reference to a record that cannot be shown. */
export interface ViewGap {
  readonly id: string;
  readonly reason: string;
}
