/** The database engine of a system. It provides an empty store for every run. */

/** An empty store for one run; disposing it deletes its data. */
export interface Place extends AsyncDisposable {
  readonly address: string;
}

export interface Engine extends AsyncDisposable {
  readonly version: string;
  place(): Promise<Place>;
}
