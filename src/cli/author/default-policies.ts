/** The folder of the bundle when the command names none. */
export const DEFAULT_POLICIES = './policies'
