/**
 * What one sees of a class from outside. The same hub is served in this process and over HTTP: what a
 * caller holds is the shape, not the class, so that either can stand behind it.
 */
export type Public<Class> = { [Member in keyof Class]: Class[Member] };
