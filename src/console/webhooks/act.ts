/** Posts to a path below the destination, reports the result, and reads again. */
export type Act = <T>(path: Below, body: object | undefined, said: (answer: T) => string) => Promise<void>

type Below = 'pause' | 'resume' | 'ping' | 'redeliver' | `deliveries/${string}/redeliver`
