/** Does something to a path below the destination, says what came of it, and reads again. */
export type Act = <T>(path: Below, body: object | undefined, said: (answer: T) => string) => Promise<void>

type Below = 'pause' | 'resume' | 'ping' | 'redeliver' | `deliveries/${string}/redeliver`
