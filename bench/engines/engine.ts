/** What holds the data of a system, and hands out an empty place in it for every single run. */

/** An empty store of one run; disposing it removes all it held. */
export interface Place extends AsyncDisposable {
  readonly address: string;
}

export interface Engine extends AsyncDisposable {
  readonly version: string;
  place(): Promise<Place>;
}
